/*
 * statewatch - watches the machine's states that services of a config wait for.
 *
 * While a service watches, a worker checks its states once a second: it asks the machine's agent,
 * or reads the run records when no agent runs (core/runs/question.h). The callback is called when
 * an answer differs from the last one.
 *
 *     statewatch_new -> statewatch_set... -> statewatch_free
 *
 * State errors are shown to root and the user of the daemon: others only learn that a state
 * failed.
 *
 * Memory: statewatch_free. Threads: the loop's; a worker checks.
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
    struct background_tasks *background_tasks; /* NULL: check synchronously, from the timer */
    void *self;
    void (*fn)(void *self, uint32_t service); /* called after changes */
};

/* NULL when no service of the config waits for a state. */
struct statewatch *statewatch_new(const struct statewatch_options *options);
/* Waits for the worker. NULL is fine. */
void statewatch_free(struct statewatch *watch);

/* Starts or stops watching the states of this service. */
void statewatch_set(struct statewatch *watch, uint32_t service, bool on);
/* The last known status of a state of the config. */
struct world_state statewatch_find(const struct statewatch *watch, const char *name);

#endif
