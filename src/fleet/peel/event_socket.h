/*
 * event socket - the agent's socket for events from local programs.
 *
 * Only root and the agent's user may use it (fleet/peel/local_event.h). An event is first written
 * to a separate outbox, so that a script with too many events does not displace returns of jobs.
 * Then it is sent to the stream; the answer says whether it is stored there or waits for a
 * connection.
 *
 * Limits: EVENT_SOCKET_BURST events at once and EVENT_SOCKET_PER_MINUTE later, EVENT_SOCKET_WAITING
 * on disk, EVENT_SOCKET_CLIENTS at a time. More are refused, with the reason.
 *
 * An event raised by a job of this agent has the depth of that job, to limit chains of reactions.
 *
 *     event_socket_new -> event_socket_connect... -> event_socket_free
 *
 * Threads: the loop's; a worker writes to the disk.
 */
#ifndef FLEET_PEEL_EVENT_SOCKET_H
#define FLEET_PEEL_EVENT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct event_socket;
struct loop;
struct nats_js;
struct snapshot;

#define EVENT_SOCKET_BURST      100
#define EVENT_SOCKET_PER_MINUTE 600
#define EVENT_SOCKET_WAITING    1000
#define EVENT_SOCKET_CLIENTS    64

struct event_socket_options {
    struct loop *loop;
    const char *peel_id, *data_dir;
    bool (*is_connected)(void *self);
    /* Depth in the chain of reactions of the running jobs. */
    int32_t (*depth)(void *self);
    /* The caller holds a reference. Their secrets are masked in events. */
    struct snapshot *(*settings)(void *self, const char **ret_why);
    void *self;
};

struct event_socket *event_socket_new(const struct event_socket_options *options, struct err *err);
/* Answers waiting clients: their events are on disk. NULL is fine. */
void event_socket_free(struct event_socket *event_socket);

/* There is a connection, or NULL: none. */
void event_socket_connect(struct event_socket *event_socket, const struct nats_js *js);
/* Events that are not stored in the stream yet. */
size_t event_socket_waiting(const struct event_socket *event_socket);

#endif
