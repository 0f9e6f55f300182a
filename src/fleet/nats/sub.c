#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "fleet/nats/core.h"
#include "fleet/nats/subject.h"

struct nats_sub {
    struct nats_conn *conn;
    uint64_t sid;
    nats_msg_fn *message;
    nats_done_fn *failed;
    void *self;
    struct str subject, queue; /* after the struct */
};

static void print_sub(const struct nats_sub *sub, struct buf *out)
{
    buf_add_text(out, "SUB ");
    buf_add_str(out, sub->subject);
    if (sub->queue.n > 0) {
        buf_add_char(out, ' ');
        buf_add_str(out, sub->queue);
    }
    buf_add_char(out, ' ');
    number_print_int((int64_t)sub->sid, out);
    buf_add_text(out, "\r\n");
}

static void print_unsub(const struct nats_sub *sub, struct buf *out)
{
    buf_add_text(out, "UNSUB ");
    number_print_int((int64_t)sub->sid, out);
    buf_add_text(out, "\r\n");
}

static int check_sub_options(const struct nats_sub_options *options, struct err *err)
{
    if (!nats_subject_is_pattern(str_from(options->subject)))
        return err_set(err, ERR_INVALID, "'%s' is not a valid subject", options->subject);
    if (options->queue && !nats_subject_is_plain(str_from(options->queue)))
        return err_set(err, ERR_INVALID, "'%s' is not a valid queue name", options->queue);
    return 0;
}

struct nats_sub *nats_sub_new(struct nats_conn *conn, const struct nats_sub_options *options,
                              struct err *err)
{
    struct nats_sub *sub;
    size_t subject, queue;
    char *texts;

    if (check_sub_options(options, err) < 0)
        return NULL;
    if (conn->state == NATS_CONN_CLOSED) {
        err_set(err, ERR_CANCELED, "the connection is closed");
        return NULL;
    }
    subject = strlen(options->subject);
    queue = options->queue ? strlen(options->queue) : 0;
    sub = mem_zalloc(sizeof(*sub) + subject + queue);
    texts = (char *)(sub + 1);
    memcpy(texts, options->subject, subject);
    if (queue > 0)
        memcpy(texts + subject, options->queue, queue);
    *sub = (struct nats_sub){ .conn = conn,
                              .sid = ++conn->next_sid,
                              .message = options->message,
                              .failed = options->failed,
                              .self = options->self,
                              .subject = { texts, subject },
                              .queue = { texts + subject, queue } };
    idmap_add(&conn->subs, sub->sid, sub);
    if (conn->state == NATS_CONN_CONNECTED)
        print_sub(sub, nats_transport_begin(&conn->transport));
    return sub;
}

void nats_sub_free(struct nats_sub *sub)
{
    struct nats_conn *conn;

    if (!sub)
        return;
    conn = sub->conn;
    if (conn->state == NATS_CONN_CONNECTED)
        print_unsub(sub, nats_transport_begin(&conn->transport));
    (void)idmap_remove(&conn->subs, sub->sid);
    free(sub);
}

void nats_sub_dispatch(struct nats_conn *conn, const struct nats_frame *frame)
{
    struct nats_sub *sub = idmap_find(&conn->subs, frame->sid);
    const struct nats_msg msg = { .subject = frame->subject,
                                  .reply = frame->reply,
                                  .header = frame->header,
                                  .payload = frame->payload };

    if (sub) /* else it was on its way when the subscription ended */
        sub->message(sub->self, &msg);
}

void nats_subs_print(struct nats_conn *conn, struct buf *out)
{
    for (size_t i = 0; i < conn->subs.cap; i++)
        if (conn->subs.entries[i].id != 0)
            print_sub(conn->subs.entries[i].value, out);
}

void nats_subs_print_unsub(struct nats_conn *conn, struct buf *out)
{
    for (size_t i = 0; i < conn->subs.cap; i++)
        if (conn->subs.entries[i].id != 0)
            print_unsub(conn->subs.entries[i].value, out);
}

/* The first that has the subject: each refused SUB line is answered once. */
bool nats_subs_deny(struct nats_conn *conn, struct str subject, const struct nats_error *error)
{
    for (size_t i = 0; i < conn->subs.cap; i++) {
        struct nats_sub *sub = conn->subs.entries[i].value;

        if (conn->subs.entries[i].id == 0 || !sub->failed || !str_eq(sub->subject, subject))
            continue;
        sub->failed(sub->self, error);
        return true;
    }
    return false;
}

void nats_subs_done(struct nats_conn *conn)
{
    for (size_t i = 0; i < conn->subs.cap; i++)
        free(conn->subs.entries[i].value);
    idmap_done(&conn->subs);
}
