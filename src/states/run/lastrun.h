/*
 * lastrun - what the last run on this machine came to, for those who ask later: whether it still
 * is what its files declare, and a report.
 *
 * A file in the data folder (core/runs/record_log.h): LASTRUN_FILE has the summary, which the agent
 * sends with every heartbeat, and after it the states. Runs of references count (state.apply,
 * state.highstate, dry runs included), single states and functions do not. Secrets are masked, as
 * in everything that is shown.
 *
 *     lastrun_keep after a run -> lastrun_read, lastrun_read_states
 *
 * What outlives the last run, how each state ended when it ran, is in core/runs/standing.h.
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

#define LASTRUN_FILE "last-run"
/* Names of states in a summary, and bytes of each of its texts. */
#define LASTRUN_NAMES    8
#define LASTRUN_TEXT_MAX 256
/* Bytes of the summary, and of all. */
#define LASTRUN_MAX        ((size_t)16 << 10)
#define LASTRUN_STATES_MAX ((size_t)64 << 20)

struct lastrun {
    const char *id; /* of the run, or of its job; "": it did not begin */
    const char *function;
    struct param_strs refs;
    struct value_time time;      /* when it ended */
    struct value_time converged; /* when a run that acts last succeeded; 0: never */
    bool test, success;
    uint32_t states, changed, failed, skipped; /* in a dry run, `changed` would change */
    struct param_strs differs;                 /* the first of those that failed or would change */
    const char *error;                         /* why it did not begin, or was cut short; "" */
    int64_t duration;                          /* nanoseconds */
};
extern const struct record_type lastrun_type;

/* Cut what is longer than a summary may be. It may come from another machine. */
void lastrun_bound(struct lastrun *run, struct arena *arena);
/* How many states are not as declared: failed, or would change. */
uint32_t lastrun_count_differs(const struct lastrun *run);

/* One state of a run. */
struct lastrun_state {
    const char *name;
    uint32_t level;
    int outcome; /* enum state_outcome; its header has a name in common with messages of the fleet
                  */
    int64_t duration;
    const char *error, *reason; /* of a failure; of a skip. "": none */
    const char *cause;          /* of a change: which requisite decided, in words; "": none */
    const char *diff;
    struct value needs; /* places of the states that its requisites name; null: none */
};

struct lastrun_states {
    const char *id;
    VEC(struct lastrun_state) list;
};
extern const struct record_type lastrun_states_type;

/* How a run was requested. */
struct lastrun_request {
    const char *function;
    struct param_strs refs;
    bool test;
    struct secrets *secrets; /* are masked; NULL: there are none */
};

/* Keep it, and the marks of what ran unless it was a dry run. `result` is NULL when nothing ran,
 * which `error` explains; NULL: no error. A folder that does not exist is not made by a dry run.
 * The summary is there also when it could not be stored. */
int lastrun_keep(struct arena *arena, const char *data_dir, const struct lastrun_request *request,
                 const struct run_result *result, const char *error, struct lastrun *ret_run,
                 struct err *err);
/* What a run came to, whichever it was and whenever: equal bytes for equal outcomes. */
void lastrun_print_outcome(struct buf *out, const struct lastrun *run);

/* Fail with ERR_NOT_FOUND when there is none. */
int lastrun_read(struct arena *arena, const char *data_dir, struct lastrun *ret_run,
                 struct err *err);
int lastrun_read_states(struct arena *arena, const char *data_dir,
                        struct lastrun_states *ret_states, struct err *err);
/* Both as one map, which lastrun_states_type can read: `id`, `run` and `states`. No states when the
 * stored ones are of another run. */
int lastrun_read_value(struct arena *arena, const char *data_dir, struct value *ret_value,
                       struct err *err);

#endif
