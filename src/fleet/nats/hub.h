/*
 * hub - shared by all connections of one loop.
 *
 *     nats_hub_new -> nats_conn_new... -> nats_conn_free... -> nats_hub_free
 *
 * It has one read buffer, a few spare write buffers, workers that resolve host names, and the step
 * of the loop that sends the output of a turn, with one system call per connection. So an idle
 * connection has no buffers.
 *
 * Memory: must outlive its connections, and the loop must not turn once it is freed.
 * Threads: the loop's.
 */
#ifndef FLEET_NATS_HUB_H
#define FLEET_NATS_HUB_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/sys/background_task.h"

struct err;
struct loop;
struct nats_transport;

struct nats_hub *nats_hub_new(struct loop *loop);
/* After its connections. NULL is fine. */
void nats_hub_free(struct nats_hub *hub);

/* --- for the connections ------------------------------------------------------------ */

#define NATS_HUB_READ   ((size_t)128 << 10)
#define NATS_HUB_SPARES 4
/* Larger buffers go back to the heap. */
#define NATS_HUB_SPARE_MAX ((size_t)1 << 20)

/* A freed connection whose callbacks may still be on the stack: freed at the end of the turn. */
struct nats_grave {
    struct nats_grave *next;
    void (*bury)(struct nats_grave *grave);
};

struct nats_hub {
    struct loop *loop;
    char *in;                     /* NATS_HUB_READ bytes, for one transport at a time */
    char *wire;                   /* the same for encrypted input; NULL: never used */
    struct nats_transport *dirty; /* with pending output */
    struct nats_grave *graves;
    struct background_tasks background_tasks;
    bool background_tasks_open;
    struct buf spares[NATS_HUB_SPARES];
    size_t spare_count;
};

/* Workers for blocking tasks, started when first needed. */
int nats_hub_workers(struct nats_hub *hub, struct background_tasks **ret_tasks, struct err *err);
void nats_hub_bury(struct nats_hub *hub, struct nats_grave *grave,
                   void (*bury)(struct nats_grave *grave));
/* Lends the memory of a spare buffer, and takes it back. */
void nats_hub_lend(struct nats_hub *hub, struct buf *buf);
void nats_hub_return(struct nats_hub *hub, struct buf *buf);

#endif
