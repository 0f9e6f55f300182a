#include "fleet/nats/hub.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "fleet/nats/transport.h"
#include "core/sys/loop.h"

static void bury_all(struct nats_hub *hub)
{
    while (hub->graves) {
        struct nats_grave *grave = hub->graves;

        hub->graves = grave->next;
        grave->bury(grave);
    }
}

/* A flush may close its connection, and others: begin at the head each time. */
static void on_hub_step(void *self)
{
    struct nats_hub *hub = self;

    while (hub->dirty)
        nats_transport_flush(hub->dirty);
    bury_all(hub);
}

struct nats_hub *nats_hub_new(struct loop *loop)
{
    struct nats_hub *hub = mem_zalloc(sizeof(*hub));

    hub->loop = loop;
    hub->in = mem_alloc(NATS_HUB_READ);
    loop_on_step(loop, on_hub_step, hub);
    return hub;
}

void nats_hub_free(struct nats_hub *hub)
{
    if (!hub)
        return;
    if (hub->background_tasks_open)
        background_tasks_close(&hub->background_tasks);
    bury_all(hub);
    for (size_t i = 0; i < hub->spare_count; i++)
        buf_done(&hub->spares[i]);
    free(hub->in);
    free(hub->wire);
    free(hub);
}

int nats_hub_workers(struct nats_hub *hub, struct background_tasks **ret_tasks, struct err *err)
{
    if (!hub->background_tasks_open &&
        background_tasks_open(&hub->background_tasks, hub->loop, err) < 0)
        return -1;
    hub->background_tasks_open = true;
    *ret_tasks = &hub->background_tasks;
    return 0;
}

void nats_hub_bury(struct nats_hub *hub, struct nats_grave *grave,
                   void (*bury)(struct nats_grave *grave))
{
    *grave = (struct nats_grave){ hub->graves, bury };
    hub->graves = grave;
}

void nats_hub_lend(struct nats_hub *hub, struct buf *buf)
{
    size_t max = buf->max;

    if (buf->p || hub->spare_count == 0)
        return;
    *buf = hub->spares[--hub->spare_count];
    buf->max = max;
}

void nats_hub_return(struct nats_hub *hub, struct buf *buf)
{
    size_t max = buf->max;

    buf_clear(buf);
    if (!buf->p || buf->cap > NATS_HUB_SPARE_MAX || hub->spare_count == NATS_HUB_SPARES) {
        buf_done(buf);
        return;
    }
    hub->spares[hub->spare_count++] = *buf;
    *buf = (struct buf)BUF_INIT(max);
}
