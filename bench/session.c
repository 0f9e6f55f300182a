#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/number.h"
#include "fleet/bus/link.h"
#include "core/data/record.h"
#include "fleet/nats/error.h"
#include "fleet/nats/hub.h"
#include "core/sys/loop.h"

#define ATTEMPTS 3

void session_die(const char *text)
{
    (void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
    exit(EXIT_FAILURE);
}

void session_check(int result, const struct err *err)
{
    if (result < 0)
        session_die(err->text);
}

void session_check_error(const struct nats_error *error)
{
    if (error)
        session_die(error->text);
}

uint64_t session_number(const char *text)
{
    uint64_t number;
    struct err err;

    session_check(number_parse_uint(str_from(text), &number, &err), &err);
    return number;
}

static void on_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct session *session = container_of(listener, struct session, listener);

    if (event->kind == NATS_EVENT_CONNECTED && !session->is_connected) {
        session->is_connected = true;
        session_stop(session);
    }
    if ((event->kind == NATS_EVENT_CLOSED || event->kind == NATS_EVENT_ERROR) &&
        !session->is_closing)
        session_check_error(event->error);
}

void session_begin(struct session *session)
{
    *session = (struct session){ 0 };
    session->loop = loop_new(&session->err);
    if (!session->loop)
        session_die(session->err.text);
    session->hub = nats_hub_new(session->loop);
}

static void wait_connected(struct session *session)
{
    if (!session->js.conn)
        session_die(session->err.text);
    nats_listen(session->js.conn, &session->listener, on_event);
    session_run(session);
}

void session_open(struct session *session, const char *url, const char *auth, const char *creds)
{
    AUTO_BUF struct buf path = BUF_INIT(BUF_NO_LIMIT);

    session_begin(session);
    buf_printf(&path, "%s/%s", auth, creds);
    session->link = link_new(session->hub,
                             &(struct link_options){ .urls = url,
                                                     .auth_dir = auth,
                                                     .creds_file = buf_text(&path),
                                                     .name = "bench",
                                                     .attempts_max = ATTEMPTS },
                             &session->err);
    if (session->link)
        session->js.conn = link_conn(session->link);
    wait_connected(session);
}

void session_open_plain(struct session *session, const char *url)
{
    session_begin(session);
    session->js.conn = nats_conn_new(
        session->hub,
        &(struct nats_options){
            .servers = &url, .server_count = 1, .plain = true, .attempts_max = ATTEMPTS },
        &session->err);
    wait_connected(session);
}

void session_close(struct session *session)
{
    session->is_closing = true;
    if (session->link)
        link_free(session->link);
    else
        nats_conn_free(session->js.conn);
    nats_hub_free(session->hub);
    loop_free(session->loop);
}

void session_run(struct session *session)
{
    loop_run(session->loop);
}

void session_stop(struct session *session)
{
    loop_stop(session->loop);
}

struct str session_encode(struct arena *arena, const struct record_type *type, const void *record)
{
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    session_check(record_encode(&bytes, type, record, &err), &err);
    return buf_copy(&bytes, arena);
}

struct nats_sub *session_listen(struct session *session, enum subject_kind kind, const char *jid,
                                nats_msg_fn *fn, void *self)
{
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX);
    const struct subject_names names = { .jid = str_from(jid) };
    struct nats_sub *sub;

    session_check(subject_print_pattern(&subject, kind, &names, &session->err), &session->err);
    sub = nats_sub_new(
        session->js.conn,
        &(struct nats_sub_options){ .subject = buf_text(&subject), .message = fn, .self = self },
        &session->err);
    if (!sub)
        session_die(session->err.text);
    return sub;
}

void session_on_done(void *self, const struct nats_error *error)
{
    session_check_error(error);
    session_stop(self);
}

void session_on_stream(void *self, const struct nats_error *error,
                       const struct nats_stream_info *info)
{
    (void)info;
    session_on_done(self, error);
}

void session_on_consumer(void *self, const struct nats_error *error,
                         const struct nats_consumer_info *info)
{
    (void)info;
    session_on_done(self, error);
}

void session_on_maybe(void *self, const struct nats_error *error)
{
    (void)error;
    session_stop(self);
}
