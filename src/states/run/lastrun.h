/*
 * lastrun - the result of the last run on this machine: a report, and whether the machine matches
 * its state files.
 *
 * LASTRUN_FILE in the data folder (core/runs/record_log.h) has the summary, which the agent sends
 * with every heartbeat, followed by the states. Only runs of references are recorded (state.apply,
 * state.highstate, dry runs included), not single states and functions. Secrets are masked.
 *
 *     lastrun_keep after a run -> lastrun_read, lastrun_read_states
 *
 * What changes the machine says so first, with LASTRUN_DOUBT_FILE: a run that is killed, a single
 * state or a revert makes the last run stale. A run of references that ends later removes the file.
 *
 * core/runs/standing.h keeps the last outcome of each state beyond the last run.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_RUN_LASTRUN_H
#define STATES_RUN_LASTRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/record.h"

struct arena;
struct buf;
struct err;
struct run_result;
struct secrets;

#define LASTRUN_FILE       "last-run"
#define LASTRUN_DOUBT_FILE "changing"
/* Names of states in a summary, and bytes of each of its texts. */
#define LASTRUN_NAMES    8
#define LASTRUN_TEXT_MAX 256
/* Bytes of the summary, and of all. */
#define LASTRUN_MAX        ((size_t)16 << 10)
#define LASTRUN_STATES_MAX ((size_t)64 << 20)

struct lastrun {
    const char *id; /* ID of the run or its job; "": it did not start */
    const char *function;
    struct param_strs refs;
    struct value_time time;      /* end time */
    struct value_time converged; /* last successful real run after which all matched; 0: never */
    bool test, success;
    bool looked; /* its results held at its end (states/run/look.h) */
    bool stale;  /* something has changed since; set when it is read */
    uint32_t states, changed, failed, skipped; /* in a dry run, `changed` would change */
    uint32_t again;                            /* states that would change again */
    struct param_strs differs;                 /* the first states that failed or would change */
    const char *error;                         /* why it did not start or was canceled; "" */
    int64_t duration;                          /* nanoseconds */
};
extern const struct record_type lastrun_type;

/* Cut a summary to its limits. It may come from another machine. */
void lastrun_bound(struct lastrun *run, struct arena *arena);
/* The number of states that failed or would change. */
uint32_t lastrun_count_differs(const struct lastrun *run);

/* One state of a run. */
struct lastrun_state {
    const char *name;
    uint32_t level;
    int outcome; /* enum state_outcome; its header clashes with a fleet message */
    int64_t duration;
    const char *error, *reason; /* error of a failure; reason of a skip; "": none */
    const char *cause;          /* the requisite that decided a change, in words; "": none */
    const char *again;          /* why it would change again; "": it would not */
    const char *diff;
    struct value needs; /* positions of the states that its requisites name; null: none */
};

struct lastrun_states {
    const char *id;
    VEC(struct lastrun_state) list;
};
extern const struct record_type lastrun_states_type;

/* A run, or a revert, is about to change something: until a run of references, real or dry, has
 * ended later, the last one is stale. On disk before this returns. */
int lastrun_doubt(const char *data_dir, struct err *err);

/* How a run was requested. */
struct lastrun_request {
    const char *function;
    struct param_strs refs;
    bool test;
    struct secrets *secrets; /* masked in the record, or NULL */
};

/* Store the result and, except for a dry run, the standing of its states. `result` is NULL when
 * nothing ran; `error` says why, or is NULL. A dry run does not create the folder. The summary is
 * set even when storing fails. */
int lastrun_keep(struct arena *arena, const char *data_dir, const struct lastrun_request *request,
                 const struct run_result *result, const char *error, struct lastrun *ret_run,
                 struct err *err);
/* A digest of the outcome without ID and time: equal bytes for equal outcomes. */
void lastrun_print_outcome(struct buf *out, const struct lastrun *run);

/* Fail with ERR_NOT_FOUND when there is none. */
int lastrun_read(struct arena *arena, const char *data_dir, struct lastrun *ret_run,
                 struct err *err);
int lastrun_read_states(struct arena *arena, const char *data_dir,
                        struct lastrun_states *ret_states, struct err *err);
/* Summary and states as one map for lastrun_states_type: `id`, `run` and `states`. Without states
 * when the stored ones belong to another run. */
int lastrun_read_value(struct arena *arena, const char *data_dir, struct value *ret_value,
                       struct err *err);

#endif
