/*
 * engine - the services of one config, and their order.
 *
 *     engine_new -> engine_start -> ... -> engine_stop -> engine_is_down -> engine_free
 *
 * Requests return at once; their effects happen on the loop, and are reported to the sink. After a
 * burst of changes the sink gets EVENT_SETTLED: the time to check again whether services are
 * ready, down, or quiescent.
 *
 * Callbacks of the world hand an event to one service and queue it. engine_step drains the queue:
 * dependents see restarts first and then other changes, and waiting services check again. There is
 * no recursion over dependencies. Call it after the callbacks of each turn of the loop
 * (loop_on_step); requests call it themselves.
 *
 * Memory: engine_free frees. `config` and `world` must live as long as the engine,
 * which takes over world->events. Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_ENGINE_H
#define KEPLER_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kepler/engine/event.h"
#include "kepler/engine/service.h"

struct config;
struct engine;
struct world;

/* Services by number; an empty set means all. */
struct engine_set {
    const uint32_t *services;
    size_t count;
    size_t needs; /* the last so many are needed by the others, and were not named themselves */
};
#define ENGINE_ALL ((struct engine_set){ NULL, 0, 0 })

struct engine *engine_new(const struct config *config, struct world *world, struct event_sink sink);
/* Running processes are abandoned: stop them first. NULL is fine. */
void engine_free(struct engine *engine);

/* Sets the requester of the following calls, for recorded causes: "root", "the daemon, which ends";
 * NULL: none. Copied. */
void engine_ask_as(struct engine *engine, const char *who);

enum engine_flag {
    ENGINE_NO_DEPS = 1, /* do not wait for dependencies */
    ENGINE_NAMED = 2,   /* requested by name: `if` is not evaluated, but for `needs` of the set */
};

/* Starts those that are not active, whatever their policy, and ends a delay before a restart. Does
 * not start dependencies; one that is not started counts as stopped. */
void engine_start(struct engine *engine, struct engine_set set, unsigned flags);

struct engine_stop {
    int signal;     /* 0: the default of each service */
    bool clean;     /* run pre_cleanup hooks afterwards, for services that ever ran */
    bool keep_logs; /* overrides retention: the user needs to see what went wrong */
};
/* Stops in parallel, dependents before their dependencies. Overrides any start or restart in
 * progress. */
void engine_stop(struct engine *engine, struct engine_set set, const struct engine_stop *options);

/* Restarts those that run or wait to be restarted; returns how many. Dependents stop first and
 * start last. */
size_t engine_restart(struct engine *engine, struct engine_set set, unsigned flags);

#define ENGINE_GONE UINT32_MAX

/* Goes on with another version of the config. Services are the same by name: what runs, goes on
 * running. Those that are gone must be down, and those with other states to wait for; so must
 * those whose dependencies changed while they wait for one. Returns the new number of each old
 * service, or ENGINE_GONE; `config` must live as long as the engine, and so must the old one. */
const uint32_t *engine_change(struct engine *engine, const struct config *config,
                              struct arena *arena);

/* Drains the queue of changes. */
void engine_step(struct engine *engine);

/* --- queries ----------------------------------------------------------------------- */

size_t engine_count(const struct engine *engine);
const struct service *engine_get(const struct engine *engine, uint32_t index);
/* NULL when there is none. */
const struct service *engine_find(const struct engine *engine, const char *name);
const struct config *engine_config(const struct engine *engine);
struct world *engine_world(const struct engine *engine);

/* Restores what an earlier engine knew of an inactive service. */
void engine_restore(struct engine *engine, uint32_t index, const struct service_record *record,
                    const char *reason);
/* Restores all histories, before engine_restore. Drops services that no longer exist. */
void engine_restore_history(struct engine *engine, const struct history_book *book);
/* All histories, by place of the service; borrowed. */
struct history_book engine_history(const struct engine *engine, struct arena *arena);

/* Has everything of these services ended, hooks and checks included? */
bool engine_is_down(const struct engine *engine, struct engine_set set);
/* Is each of them down, or was it since the stop and then started again? */
bool engine_is_stopped(const struct engine *engine, struct engine_set set);
/* These services, and after them all that they need: their dependencies, direct or not, except
 * those that have ended as required. */
struct engine_set engine_with_needs(const struct engine *engine, struct engine_set set,
                                    struct arena *arena);
/* Is any service active that is not in the set? */
bool engine_has_others(const struct engine *engine, struct engine_set set);
/* Would engine_start, or engine_restart, act on it? */
bool engine_is_startable(const struct service *service, unsigned flags);
bool engine_is_restartable(const struct service *service);
/* Has each of them finished starting: running, ended, or never going to run? */
bool engine_is_started(const struct engine *engine, struct engine_set set);
/* Is no restart, start or stop of these in progress? Waiting for a dependency counts as one, a
 * delay does not. */
bool engine_is_settled(const struct engine *engine, struct engine_set set);

/* For the parts of a service: fills in name and time, and reports to the sink. */
void engine_emit(struct engine *engine, const struct service *service, struct engine_event *event);
/* The plan from the config, before anything is evaluated. */
void engine_plan(const struct config_service *config, struct world_plan *ret_plan);
/* Adds to the queue that engine_step drains. */
void engine_queue(struct engine *engine, struct service *service);
/* The same, and notifies dependents that it restarts. */
void engine_pass_restart(struct engine *engine, struct service *service);
/* The number of a new look at services, which sees each of them once. */
uint64_t engine_look(struct engine *engine);
/* It waits for a restart that may come from afar: judge its edges after each change. */
void engine_look_again(struct engine *engine, struct service *service);

/* " by root", or "". */
const char *engine_asker(const struct engine *engine);

#endif
