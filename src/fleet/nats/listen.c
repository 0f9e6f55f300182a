#include "fleet/nats/core.h"

static void notify_listeners(struct nats_conn *conn, const struct nats_event *event)
{
    struct nats_walk walk = { conn->listeners, conn->walk };

    conn->walk = &walk;
    while (walk.next && !(event->handled && *event->handled)) {
        struct nats_listener *listener = walk.next;

        walk.next = listener->next;
        listener->fn(listener, event);
    }
    conn->walk = walk.outer;
}

void nats_tell(struct nats_conn *conn, enum nats_event_kind kind, const struct nats_error *error)
{
    notify_listeners(conn, &(struct nats_event){ .kind = kind, .error = error });
}

bool nats_tell_denied(struct nats_conn *conn, struct str subject, const struct nats_error *error)
{
    bool handled = false;

    notify_listeners(conn, &(struct nats_event){
                               .kind = NATS_EVENT_DENIED,
                               .error = error,
                               .subject = subject,
                               .handled = &handled,
                           });
    return handled;
}

void nats_listen(struct nats_conn *conn, struct nats_listener *listener, nats_event_fn *fn)
{
    struct nats_listener **end = &conn->listeners;

    while (*end)
        end = &(*end)->next;
    *listener = (struct nats_listener){ .fn = fn, .back = end };
    *end = listener;
}

void nats_unlisten(struct nats_conn *conn, struct nats_listener *listener)
{
    if (!listener->back)
        return;
    for (struct nats_walk *walk = conn->walk; walk; walk = walk->outer)
        if (walk->next == listener)
            walk->next = listener->next;
    *listener->back = listener->next;
    if (listener->next)
        listener->next->back = listener->back;
    listener->back = NULL;
}
