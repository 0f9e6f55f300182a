#include "kepler/daemon/client.h"

#include <stdlib.h>

#include "kepler/access/acl.h"
#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "kepler/control/message.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/caller.h"
#include "kepler/daemon/daemon.h"
#include "core/sys/fd.h"

static void use_token(struct acl_caller *caller, const struct service_token *token, bool may_load)
{
    caller->kind = ACL_TOKEN;
    caller->may_load = may_load;
    caller->token_name = token->name;
    caller->rights = token->rights;
    caller->floor = token->floor;
    caller->authorize = token->authorize;
    caller->lua = token->lua;
}

const char *client_refusal(const struct client *client, const char *token, struct arena *arena,
                           struct acl_caller *ret_caller)
{
    struct acl_caller caller = caller_find(arena, client->peer.uid, client->peer.gid);
    const enum caller_standing standing = caller_standing(arena, &caller);
    const struct service_token *lent = token ? tokens_find(&client->daemon->tokens, token) : NULL;

    if (token && !lent)
        return "the token in " TOKEN_VARIABLE " is not valid, or no longer: its service has ended; "
               "without the variable your own rights hold";
    if (lent)
        use_token(&caller, lent, standing == CALLER_MEMBER);
    else if (standing != CALLER_MEMBER)
        return caller_refusal(standing);
    *ret_caller = caller;
    return NULL;
}

/* --- life -------------------------------------------------------------------------------- */

static void on_client_message(void *self, const struct message *message)
{
    call_begin(self, message);
}

static void on_client_drained(void *self)
{
    const struct client *client = self;

    daemon_pump_soon(client->daemon);
}

static void on_client_closed(void *self, const char *why)
{
    struct client *client = self;

    if (why[0])
        log_warning("client lost pid=%d uid=%u why=%s", (int)client->peer.pid, client->peer.uid,
                    why);
    client_free(client);
}

static void refuse_daemon_client(struct client *client, const char *why)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct message no = { MESSAGE_REPLY, 0, MESSAGE_DENIED,
                                message_body(&arena, "message", why), NULL };
    struct err ignored;

    log_warning("client refused pid=%d uid=%u", (int)client->peer.pid, client->peer.uid);
    (void)connection_send(&client->connection, &no, &ignored);
    connection_close(&client->connection);
}

static size_t count_clients(const struct daemon *daemon, uid_t uid)
{
    size_t count = 0;

    for (const struct client *client = daemon->clients; client; client = client->next)
        count += client->peer.uid == uid;
    return count;
}

static size_t count_non_members(const struct daemon *daemon)
{
    size_t count = 0;

    for (const struct client *client = daemon->clients; client; client = client->next)
        count += client->stranger;
    return count;
}

/* Why it is disconnected before its first request; NULL: it may stay. A non-member may hold the
 * token of a running service; a few of them cannot lock members out. */
static const char *find_client_refusal(struct client *client)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct daemon *daemon = client->daemon;
    size_t count = count_clients(daemon, client->peer.uid);
    struct acl_caller ignored;
    const char *refusal;

    if (caller_is_master(client->peer.uid))
        return NULL;
    if (count > DAEMON_CLIENTS_USER_MAX)
        return "you have too many connections to this daemon: end some of your commands";
    refusal = client_refusal(client, NULL, &arena, &ignored);
    client->stranger = refusal != NULL;
    if (refusal && daemon->tokens.first && count <= DAEMON_CLIENTS_STRANGER_MAX &&
        count_non_members(daemon) <= DAEMON_CLIENTS_STRANGERS_MAX)
        return NULL;
    return refusal;
}

static void drop_client(struct client *client, const struct err *err)
{
    log_warning("client not served error=%s", err->text);
    free(client);
}

void client_new(struct daemon *daemon, int fd)
{
    struct client *client = mem_zalloc(sizeof(*client));
    const char *refusal;
    const struct connection_events events = { .self = client,
                                              .message = on_client_message,
                                              .drained = on_client_drained,
                                              .closed = on_client_closed };
    struct err err;

    client->daemon = daemon;
    if (unixsock_peer(fd, &client->peer, &err) < 0) {
        fd_close(&fd);
        drop_client(client, &err);
        return;
    }
    if (connection_start(&client->connection, daemon->loop, fd, &events, &err) < 0) {
        drop_client(client, &err);
        return;
    }
    client->next = daemon->clients;
    client->back = &daemon->clients;
    if (client->next)
        client->next->back = &client->next;
    daemon->clients = client;
    daemon->client_count++;
    refusal = find_client_refusal(client);
    if (refusal)
        refuse_daemon_client(client, refusal);
}

void client_free(struct client *client)
{
    call_leave(client);
    connection_done(&client->connection);
    *client->back = client->next;
    if (client->next)
        client->next->back = client->back;
    client->daemon->client_count--;
    free(client);
}
