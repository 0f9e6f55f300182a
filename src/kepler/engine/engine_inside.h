/*
 * engine_inside - an engine as engine.c and engine_change.c see it.
 */
#ifndef KEPLER_ENGINE_ENGINE_INSIDE_H
#define KEPLER_ENGINE_ENGINE_INSIDE_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "kepler/engine/engine.h"

struct engine {
    struct arena arena; /* services and edges */
    const struct config *config;
    struct world *world;
    struct event_sink sink;
    struct service **services; /* each stays where it is, also when its number changes */
    struct service *queue, **queue_end;
    struct buf asker; /* for the current requests: " by root" */
    bool stepping;    /* a sink may send requests, but must not step again */
    bool cleaning;    /* pre_cleanup hooks are due once all is down */
    bool dirty;       /* something happened since EVENT_SETTLED */
    bool restarts;    /* services in the queue have a restart to pass on */
    bool look_again;  /* services wait for restarts that may come from afar */
    uint64_t look;
};

/* From engine.c: */
/* A service of engine->config at its place, without its dependents. */
void engine_init_service(struct engine *engine, uint32_t index);
/* Its edges, from its config. */
void engine_init_edges(struct engine *engine, struct service *service);
/* Tells all services who depends on them. */
void engine_link(struct engine *engine);
void engine_done_service(struct engine *engine, struct service *service);

#endif
