/*
 * statewatch - what is known of the states of this machine that services of a config wait for.
 *
 * While a service watches, its states are asked for once a second, by a worker: of the agent of
 * this machine, or from the record of runs when no agent runs (core/runs/question.h). Who watches
 * is called when an answer differs from the last one.
 *
 *     statewatch_new -> statewatch_set... -> statewatch_free
 *
 * Errors of states are for root and the user of the daemon: others learn only that a state failed.
 *
 * Memory: statewatch_free. Threads: the loop's; a worker asks.
 */
#ifndef KEPLER_SUPERVISE_STATEWATCH_H
#define KEPLER_SUPERVISE_STATEWATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "kepler/engine/world.h"

struct background_tasks;
struct config;
struct statewatch;
struct timers;

#define STATEWATCH_INTERVAL (INT64_C(1000000000))

struct statewatch_options {
    const struct config *config;
    struct timers *timers;
    struct background_tasks *background_tasks; /* NULL: asked at once, from the timer */
    void *self;
    void (*fn)(void *self, uint32_t service); /* is called after changes */
};

/* NULL when no service of the config waits for a state. */
struct statewatch *statewatch_new(const struct statewatch_options *options);
/* Waits for the worker. NULL is fine. */
void statewatch_free(struct statewatch *watch);

/* Watch the states of this service, or no longer. */
void statewatch_set(struct statewatch *watch, uint32_t service, bool on);
/* What was heard of a state of the config. */
struct world_state statewatch_find(const struct statewatch *watch, const char *name);

#endif
