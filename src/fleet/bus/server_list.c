#include "fleet/bus/server_list.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/nats/conn.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/subject.h"

struct server_list {
    struct nats_conn *conn;
    struct server_list_options options;
    struct nats_sub *sub;
    struct timer timer;
    size_t counted, heard;
};

static void finish_server_list(struct server_list *call)
{
    const struct server_list_options options = call->options;
    size_t counted = call->counted;

    server_list_free(call);
    options.done(options.self, counted);
}

static void on_server_list_timeout(struct timer *timer)
{
    finish_server_list(container_of(timer, struct server_list, timer));
}

static bool take_server_answer(const struct server_list *call, struct str payload)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value answer;
    struct err err;

    if (call->options.text)
        return call->options.text(call->options.self, payload);
    return json_decode_lenient(&arena, arena_str(&arena, payload), &answer, &err) == 0 &&
           call->options.answer(call->options.self, &answer);
}

static void on_server_answer(void *self, const struct nats_msg *msg)
{
    struct server_list *call = self;

    if (++call->heard > SERVER_LIST_SERVERS_MAX)
        return;
    if (take_server_answer(call, msg->payload))
        call->counted++;
    if (call->options.expect)
        call->options.expected = call->options.expect(call->options.self);
    if (call->options.expected > 0 && call->counted >= call->options.expected)
        finish_server_list(call);
}

static int send_question(struct server_list *call, const char *inbox, struct err *err)
{
    call->sub = nats_sub_new(
        call->conn,
        &(struct nats_sub_options){ .subject = inbox, .message = on_server_answer, .self = call },
        err);
    if (!call->sub)
        return -1;
    return nats_publish(call->conn,
                        &(struct nats_pub){ .subject = str_from(call->options.subject),
                                            .reply = str_from(inbox),
                                            .payload = call->options.payload },
                        err);
}

struct server_list *server_list_new(struct nats_conn *conn,
                                    const struct server_list_options *options, struct err *err)
{
    AUTO_BUF struct buf inbox = BUF_INIT(SUBJECT_MAX);
    struct server_list *call = mem_zalloc(sizeof(*call));

    call->conn = conn;
    call->options = *options;
    nats_inbox_print(conn, &inbox);
    if (send_question(call, buf_text(&inbox), err) < 0) {
        server_list_free(call);
        return NULL;
    }
    call->options.subject = NULL; /* both were used */
    call->options.payload = STR("");
    timer_set(loop_timers(nats_conn_loop(conn)), &call->timer,
              clock_after(clock_now(), options->wait), on_server_list_timeout);
    return call;
}

void server_list_free(struct server_list *call)
{
    if (!call)
        return;
    timer_clear(loop_timers(nats_conn_loop(call->conn)), &call->timer);
    nats_sub_free(call->sub);
    free(call);
}
