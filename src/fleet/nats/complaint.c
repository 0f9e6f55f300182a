/*
 * Server errors (-ERR): which operation failed, and whether the connection survives.
 */
#include <string.h>

#include "core/base/buf.h"
#include "fleet/nats/core.h"
#include "fleet/nats/subject.h"

/* How the server begins to say that a right is missing; the subject follows in quotes. */
static const struct denial {
    struct str words;
    bool is_sub;
} denials[] = {
    { { "Permissions Violation for Subscription to ", 42 }, true },
    { { "Permissions Violation for Publish to ", 37 }, false },
    { { "Permissions Violation for Publish with Reply of ", 48 }, false },
};

/* Other errors; all but the last rows close the connection. */
static const struct {
    const char *words; /* found anywhere, in any case */
    enum nats_fault fault;
    bool survives;
} complaints[] = {
    { "authorization violation", NATS_FAULT_AUTH, false },
    { "authentication", NATS_FAULT_AUTH, false },
    { "account", NATS_FAULT_AUTH, false },
    { "stale connection", NATS_FAULT_NETWORK, false },
    { "slow consumer", NATS_FAULT_SLOW, false },
    { "invalid subject", NATS_FAULT_REFUSED, true },
    { "invalid publish subject", NATS_FAULT_REFUSED, true },
    { "maximum subscriptions exceeded", NATS_FAULT_REFUSED, true },
    { "permissions violation", NATS_FAULT_DENIED, true },
    { "", NATS_FAULT_REFUSED, false },
};

/* "a.b" of `"a.b" using queue "q"`, as Go quotes it. */
static void unquote_go_text(struct str text, struct buf *out)
{
    for (size_t i = 1; i < text.n && text.p[i] != '"'; i++) {
        if (text.p[i] == '\\' && i + 1 < text.n)
            i++;
        buf_add_char(out, text.p[i]);
    }
}

/* True: it is about a right, and who it concerns was called. */
static bool take_denial(struct nats_conn *conn, struct str text)
{
    AUTO_BUF struct buf subject = BUF_INIT(NATS_SUBJECT_MAX);
    struct nats_error error;
    bool told;

    for (size_t i = 0; i < ARRAY_LEN(denials); i++) {
        if (!str_starts(text, denials[i].words))
            continue;
        unquote_go_text(str_from_offset(text, denials[i].words.n), &subject);
        nats_error_set(&error, NATS_FAULT_DENIED, 0, "no permission to %s '%s'",
                       denials[i].is_sub ? "subscribe to" : "publish to", buf_text(&subject));
        told = denials[i].is_sub ? nats_subs_deny(conn, buf_view(&subject), &error)
                                 : nats_tell_denied(conn, buf_view(&subject), &error);
        if (!told)
            nats_tell(conn, NATS_EVENT_ERROR, &error);
        return true;
    }
    return false;
}

void nats_complaint_take(struct nats_conn *conn, struct str text)
{
    struct nats_error error;
    size_t i = 0;

    if (take_denial(conn, text))
        return;
    nats_error_set(&error, NATS_FAULT_REFUSED, 0, "the server says: %.*s", STR_ARG(text));
    while (!strcasestr(error.text, complaints[i].words))
        i++;
    error.fault = complaints[i].fault;
    if (!complaints[i].survives)
        conn->broken = error; /* the server closes now, and this is why */
    if (conn->state == NATS_CONN_CONNECTED)
        nats_tell(conn, NATS_EVENT_ERROR, &error);
}
