/*
 * event socket - the socket of the agent through which programs of this machine raise events.
 *
 * Root and the user of the agent may, others are sent away: fleet/peel/local_event.h. An event is
 * on disk before anything else happens to it, in an outbox of its own, so that a script that raises
 * too many takes no room from the returns of jobs. Then the stream gets it; the answer says whether
 * it has, or whether the event waits for a connection.
 *
 * Limits: EVENT_SOCKET_BURST events at once and EVENT_SOCKET_PER_MINUTE later, EVENT_SOCKET_WAITING
 * on disk, EVENT_SOCKET_CLIENTS at a time. What is beyond is refused, and the answer says why.
 *
 * An event that a job of this agent raises has the depth of that job, so that chains of reactions
 * are counted.
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
    /* The depth of reactions that jobs which run now were begun by. */
    int32_t (*depth)(void *self);
    /* The caller holds a reference. Their secrets are masked in events. */
    struct snapshot *(*settings)(void *self, const char **ret_why);
    void *self;
};

struct event_socket *event_socket_new(const struct event_socket_options *options, struct err *err);
/* Clients that wait are answered: their event is on disk. NULL is fine. */
void event_socket_free(struct event_socket *event_socket);

/* There is a connection, or NULL: none. */
void event_socket_connect(struct event_socket *event_socket, const struct nats_js *js);
/* Events that no stream has yet. */
size_t event_socket_waiting(const struct event_socket *event_socket);

#endif
