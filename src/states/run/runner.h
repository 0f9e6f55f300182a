/*
 * runner - the data of a running run, shared by run.c and runner.c only.
 *
 * The thread that called run_plan walks the levels and asks the state gates; workers run
 * single states and write the result of each to its place. What workers share (the
 * arena of results, spare attempts) is under the mutex.
 */
#ifndef STATES_RUN_RUNNER_H
#define STATES_RUN_RUNNER_H

#include <pthread.h>
#include <stdint.h>

#include "core/base/ksuid.h"
#include "states/run/attempt.h"
#include "states/run/plan_binding.h"
#include "states/run/level_pool.h"
#include "states/run/state_gate.h"
#include "states/run/reactions.h"
#include "states/state/outcome.h"
#include "states/run/run.h"

struct plan;
struct runner_spare;

/* A state that the state gate lets run. */
struct runner_task {
    struct level_pool_task task;
    uint32_t state;
    struct state_gate state_gate;
};

struct runner {
    struct state_host *host;
    const struct plan *plan;
    const struct run_sink *sink;
    bool test;
    struct plan_binding_key key; /* key for the hashes of a dry run */
    char run_id[KSUID_SIZE];
    struct undo *undo;
    struct draft_log *drafts;
    struct reactions reactions;
    struct attempt_world world, ahead; /* `ahead` never applies: for prereq */

    struct state_gate_view view;
    struct state_result *results; /* in order of execution */
    uint32_t *position;           /* index of each state in `results` */
    const struct value **details; /* by state, unmasked; NULL: not read by any state */
    struct value no_details;      /* details of a state that set none */
    uint32_t level;               /* the current level */
    int64_t began;                /* wall time */
    struct map groups;            /* of that level: lock name to struct state_group */

    pthread_mutex_t mutex;
    struct arena *arena;         /* for results; under the mutex while a level runs */
    struct runner_spare *spares; /* attempts for reuse */
    bool doubted;                /* the last run is stale; under the mutex */
    bool canceled;
};

/* Run one state in a worker and write its result. */
void runner_execute(struct runner *runner, struct runner_task *task);
/* Check a state that has run; its result gets `again` if it would change or fail. For look.c. */
void runner_check_again(struct runner *runner, uint32_t state);
/* Write the result of a skipped state. */
void runner_skip(struct runner *runner, uint32_t state, const struct state_gate *state_gate);
void runner_free_spares(struct runner *runner);

#endif
