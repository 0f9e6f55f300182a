#include "commands/cli/kepler/client.h"

#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "commands/cli/kepler/kepler.h"
#include "commands/cli/kepler/progress.h"
#include "kepler/control/message.h"
#include "kepler/control/token.h"

static void on_daemon_message(void *self, const struct message *message)
{
    struct kepler_client *client = self;

    client->fn(client->self, client, message);
}

static void on_connection_closed(void *self, const char *why)
{
    struct kepler_client *client = self;

    client->lost = true;
    (void)snprintf(client->why, sizeof(client->why), "%s", why);
    loop_stop(client->loop);
}

int kepler_client_open(struct kepler_client *client, struct arena *arena, kepler_message_fn *fn,
                       void *self)
{
    const struct connection_events events = { .self = client,
                                              .message = on_daemon_message,
                                              .closed = on_connection_closed };
    struct err err;
    int fd;

    *client = (struct kepler_client){ .arena = arena, .fn = fn, .self = self };
    client->connection.fd = -1;
    if (home_find_client(arena, &client->home, &err) < 0 ||
        home_connect(&client->home, &fd, &err) < 0) {
        (void)kepler_err(&err);
        return KEPLER_UNREACHABLE;
    }
    client->loop = loop_new(&err);
    if (!client->loop || connection_start(&client->connection, client->loop, fd, &events, &err) < 0)
        return kepler_err(&err);
    return 0;
}

uint64_t kepler_client_send(struct kepler_client *client, enum request_kind kind, const void *args)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct message message = { MESSAGE_REQUEST, ++client->last_id,
                                     request_get(kind)->record.name,
                                     request_encode(&arena, kind, args), token_given() };
    struct err err;

    if (connection_send(&client->connection, &message, &err) < 0) {
        (void)snprintf(client->why, sizeof(client->why), "%s", err.text);
        client->lost = true;
    }
    return client->last_id;
}

void kepler_client_run(struct kepler_client *client)
{
    if (!client->lost)
        loop_run(client->loop);
}

void kepler_client_stop(struct kepler_client *client)
{
    loop_stop(client->loop);
}

void kepler_client_done(struct kepler_client *client)
{
    if (client->loop)
        connection_done(&client->connection);
    loop_free(client->loop);
    client->loop = NULL;
}

int kepler_client_check(const struct message *reply)
{
    const char *text = message_text(reply, "message", "the daemon gave no reason");

    if (strcmp(reply->name, MESSAGE_OK) == 0)
        return 0;
    if (strcmp(reply->name, MESSAGE_DENIED) == 0)
        return kepler_error("Permission denied: %s", text);
    return kepler_error("%s", text);
}

/* --- one request -------------------------------------------------------------------------- */

struct daemon_query {
    struct kepler_progress *progress; /* NULL: none */
    bool answered;
    int status;
    struct value body;
};

/* Id 0 comes from the daemon itself: it is closing the connection. */
static void on_kepler_reply(void *self, struct kepler_client *client, const struct message *message)
{
    struct daemon_query *query = self;

    if (query->progress && message->kind == MESSAGE_EVENT && strcmp(message->name, "progress") == 0)
        kepler_progress_set(query->progress, &message->body);
    if (message->kind != MESSAGE_REPLY || query->answered)
        return;
    query->answered = true;
    query->status = kepler_client_check(message);
    query->body = value_copy(client->arena, &message->body);
    kepler_client_stop(client);
}

/* Call `print` for each text of the list `key`; returns how many. */
static size_t print_reply_texts(const struct value *body, const char *key,
                                void (*print)(const char *))
{
    const struct value *list = value_get(body, key);
    size_t count = 0;

    for (size_t i = 0; list && value_is(list, VALUE_LIST) && i < list->list->count; i++)
        if (value_is(&list->list->items[i], VALUE_STR)) {
            print(list->list->items[i].s.p);
            count++;
        }
    return count;
}

static void print_warning(const char *text)
{
    kepler_warn("%s", text);
}

static void print_reply_error(const char *text)
{
    (void)kepler_error("%s", text);
}

int kepler_tell(bool quiet, FILE *where, const struct value *body)
{
    const struct value *text = value_get(body, "message");

    if (!quiet)
        (void)print_reply_texts(body, "warnings", print_warning);
    if (!quiet && text && value_is_textual(text) && text->s.n > 0)
        (void)fprintf(where, "%s\n", text->s.p);
    return print_reply_texts(body, "errors", print_reply_error) > 0 ? KEPLER_FAILED : KEPLER_OK;
}

int kepler_ask(struct arena *arena, enum request_kind kind, const void *args,
               struct value *ret_body)
{
    return kepler_ask_with(arena, kind, args, NULL, ret_body);
}

int kepler_ask_with(struct arena *arena, enum request_kind kind, const void *args,
                    struct kepler_progress *progress, struct value *ret_body)
{
    struct kepler_client client;
    struct daemon_query query = { .progress = progress };
    int status = kepler_client_open(&client, arena, on_kepler_reply, &query);

    if (status == 0) {
        if (progress)
            kepler_progress_start(progress, client.loop);
        (void)kepler_client_send(&client, kind, args);
        kepler_client_run(&client);
        status = query.status;
        if (!query.answered)
            status = kepler_error("lost the connection to the daemon before it answered%s%s",
                                  client.why[0] ? ": " : "", client.why);
        else
            *ret_body = query.body;
        if (progress)
            kepler_progress_stop(progress);
    }
    kepler_client_done(&client);
    return status;
}
