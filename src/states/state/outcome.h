/*
 * outcome - the results of one state and of a whole run.
 *
 * Users and scripts match on the names and skip reasons. Results are merged only here, so that all
 * reports agree.
 */
#ifndef STATES_STATE_OUTCOME_H
#define STATES_STATE_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/diag.h"
#include "core/base/str.h"
#include "core/base/vec.h"

struct value_map;

enum state_outcome {
    OUTCOME_UNCHANGED,
    OUTCOME_CHANGED, /* in a dry run: would change */
    OUTCOME_FAILED,
    OUTCOME_SKIPPED,
};

enum skip_reason {
    SKIP_NONE,
    SKIP_REQUIRE_FAILED,
    SKIP_ONCHANGES_NOT_MET,
    SKIP_ONFAIL_NOT_MET,
    SKIP_PREREQ_NOT_MET,
    SKIP_FAILHARD_ABORT,
    SKIP_CANCELED, /* its text is empty */
};
#define SKIP_REASONS (SKIP_CANCELED + 1)

/* "require_failed", ...; "" for SKIP_NONE and SKIP_CANCELED. */
const char *skip_reason_text(enum skip_reason reason);

struct state_result {
    const char *name; /* "file.managed:/etc/motd" */
    uint32_t level;
    enum state_outcome outcome;
    enum skip_reason skip_reason;
    bool dry;          /* test: true: only checked, even in a real run */
    bool would_change; /* of a dry state: the check found a difference */
    int64_t duration;  /* nanoseconds */
    struct str diff;
    const char *hash;    /* keyed hash of the planned change (states/run/plan_binding.h), or NULL */
    const char *error;   /* NULL: none */
    struct place at;     /* the declaration; no file: unknown */
    const char *handler; /* the state that handled the failure (onfail_stop: false), or NULL */
    const char *cause;   /* the deciding requisite, in words; or NULL */
    const char *again;   /* why it would change again (states/run/look.h), or NULL */
    struct value_map *details; /* map with text keys, or NULL */
    const struct value *value; /* what it returned, if `details` have that as a text; or NULL */
    const uint32_t *needs;     /* positions of the states that its requisites name */
    uint32_t need_count;
};

/* Failed, or skipped after a failure or a cancel: states that require it must not run. An unmet
 * condition (onchanges, onfail, prereq) is a success without change. */
bool state_result_is_broken(const struct state_result *result);

/* Merge two outcomes: failed before changed before unchanged before skipped. */
enum state_outcome outcome_merge(enum state_outcome a, enum state_outcome b);

/* The automatic revert of a failed run (states/run/fallback.h). */
enum run_fallback {
    FALLBACK_NONE, /* not reverted, or nothing to revert */
    FALLBACK_WHOLE,
    FALLBACK_PARTIAL, /* some states could not be reverted */
};

struct run_result {
    const char *run_id;
    bool test, canceled;
    bool revert;                /* a revert of other runs; run_id is the newest of them */
    VEC(const char *) reverted; /* ids of the reverted runs, newest first */
    bool destroys; /* the dry run of a revert that would remove an account, a package or data */
    enum run_fallback fallback;
    uint32_t changed, failed, skipped;
    uint32_t handled;      /* failures that do not fail the run */
    uint32_t would_change; /* states with test: true */
    int64_t looked;        /* wall time for which results hold (states/run/look.h); 0: none */
    uint32_t again;        /* states that would change again */
    int64_t duration;
    VEC(struct state_result) states; /* in execution order: level, order, name */
};

/* Count the results in `states`. */
void run_result_count(struct run_result *result);

/* Does the machine match the states, as far as they can be checked? */
bool run_result_is_converged(const struct run_result *result);

/* No unhandled failure, and not canceled. */
bool run_result_is_success(const struct run_result *result);

#endif
