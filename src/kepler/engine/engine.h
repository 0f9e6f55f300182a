/*
 * engine - the services of one configuration, and the order among them.
 *
 *     engine_new -> engine_start -> ... -> engine_stop -> engine_is_down -> engine_free
 *
 * Requests return at once; what follows happens on the loop, and is reported to the sink. After a
 * burst of changes the sink gets EVENT_SETTLED: the moment to ask again whether services are ready,
 * down, or quiescent.
 *
 * Callbacks of the world hand an event to one service and queue it. engine_step
 * drains the queue: dependents learn of restarts first and then of other changes,
 * and services that wait for others look again. Nothing walks over dependencies by recursion. Call
 * it after the callbacks of each turn of the loop (loop_on_step); requests call it themselves.
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

/* Some services by number; none listed: all of them. */
struct engine_set {
    const uint32_t *services;
    size_t count;
};
#define ENGINE_ALL ((struct engine_set){ NULL, 0 })

struct engine *engine_new(const struct config *config, struct world *world, struct event_sink sink);
/* What runs is left to its fate: stop it first. NULL is fine. */
void engine_free(struct engine *engine);

/* Whose requests follow, for the causes that are kept: "root", "the daemon, which ends"; NULL:
 * nobody's. Copied. */
void engine_ask_as(struct engine *engine, const char *who);

enum engine_flag {
    ENGINE_NO_DEPS = 1, /* do not wait for dependencies */
    ENGINE_NAMED = 2,   /* asked for by name: `if` is not asked */
};

/* Start those that are not active, whatever their policy; a pause before a restart ends.
 * Dependencies are not pulled in; one that is not started counts as stopped. */
void engine_start(struct engine *engine, struct engine_set set, unsigned flags);

struct engine_stop {
    int signal;     /* 0: each service's own */
    bool clean;     /* run pre_cleanup hooks afterwards, where something ever ran */
    bool keep_logs; /* whatever the retention rules say: somebody must see what went wrong */
};
/* Stop in parallel, dependents before what they depend on. Wins over any start or restart that is
 * going on. */
void engine_stop(struct engine *engine, struct engine_set set, const struct engine_stop *options);

/* Restart those that run or pause before a restart; returns how many. Dependents go down first and
 * come up last. */
size_t engine_restart(struct engine *engine, struct engine_set set, unsigned flags);

/* Drain the queue of changes. */
void engine_step(struct engine *engine);

/* --- asking ------------------------------------------------------------------------ */

size_t engine_count(const struct engine *engine);
const struct service *engine_get(const struct engine *engine, uint32_t index);
/* NULL when there is none. */
const struct service *engine_find(const struct engine *engine, const char *name);
const struct config *engine_config(const struct engine *engine);
struct world *engine_world(const struct engine *engine);

/* What was known of a service before this engine was made; it is inactive. */
void engine_restore(struct engine *engine, uint32_t index, const struct service_record *record,
                    const char *reason);
/* The same for the histories of all, before engine_restore. Services that are no more are left out.
 */
void engine_restore_history(struct engine *engine, const struct history_book *book);
/* All histories, each at the place of its service; borrowed. */
struct history_book engine_history(const struct engine *engine, struct arena *arena);

/* Nothing of them still runs, hooks and checks included. */
bool engine_is_down(const struct engine *engine, struct engine_set set);
/* Each of them is down, or has been since it was stopped and was started again. */
bool engine_is_stopped(const struct engine *engine, struct engine_set set);
/* Would engine_start, or engine_restart, do something for it? */
bool engine_is_startable(const struct service *service, unsigned flags);
bool engine_is_restartable(const struct service *service);
/* None of them is on its way from inactive to running: each runs, or has ended, or will not. */
bool engine_is_started(const struct engine *engine, struct engine_set set);
/* No restart, start or stop of them is going on. Waiting for a dependency is, a pause is not. */
bool engine_is_settled(const struct engine *engine, struct engine_set set);

/* For the parts of a service: fill in name and time, and hand on to the sink. */
void engine_tell(struct engine *engine, const struct service *service, struct engine_event *event);
/* What the configuration says, before anything is evaluated. */
void engine_plan(const struct config_service *config, struct world_plan *ret_plan);
/* Put it into the queue that engine_step drains. */
void engine_queue(struct engine *engine, struct service *service);
/* The same, and its dependents learn that it restarts. */
void engine_pass_restart(struct engine *engine, struct service *service);
/* The number of a new look at services, which sees each of them once. */
uint64_t engine_look(struct engine *engine);
/* It waits for a restart that may come from afar: judge its edges after each change. */
void engine_look_again(struct engine *engine, struct service *service);

/* " by root", or "". */
const char *engine_asker(const struct engine *engine);

#endif
