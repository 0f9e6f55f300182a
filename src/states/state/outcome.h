/*
 * outcome - what became of one state in a run, and of the run as a whole.
 *
 * The names and skip reasons are those that users and scripts match on. All
 * merging of "what happened" is done here, so that no two places disagree.
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
    SKIP_CANCELED, /* its text is empty, as documented */
};
#define SKIP_REASONS (SKIP_CANCELED + 1)

/* "require_failed", ...; "" for SKIP_NONE and SKIP_CANCELED. */
const char *skip_reason_text(enum skip_reason reason);

struct state_result {
    const char *name; /* "file.managed:/etc/motd" */
    uint32_t level;
    enum state_outcome outcome;
    enum skip_reason skip_reason;
    bool dry;          /* with test: true: it is only looked at, also in a run that acts */
    bool would_change; /* and this was seen */
    int64_t duration;  /* nanoseconds */
    struct str diff;
    const char *hash;    /* of what would change, with the key of this machine
                            (states/run/plan_binding.h); NULL */
    const char *error;   /* NULL: none */
    struct place at;     /* where it is declared; no file: nowhere */
    const char *handler; /* of a failure: the state that handled it (onfail_stop: false); NULL */
    const char *cause;   /* which requisite decided, in words; NULL */
    struct value_map *details; /* text to anything; NULL: none */
    const uint32_t *needs;     /* places of the states that its requisites name */
    uint32_t need_count;
};

/* Failed, or skipped because something failed or was cut short: what requires it must not run. A
 * condition that was not met (onchanges, onfail, prereq) is a success without change. */
bool state_result_is_broken(const struct state_result *result);

/* What both together are: failed before changed before unchanged before skipped. */
enum state_outcome outcome_merge(enum state_outcome a, enum state_outcome b);

/* A run that failed was reverted at its end (states/run/fallback.h). */
enum run_fallback {
    FALLBACK_NONE, /* it was not, or nothing had changed */
    FALLBACK_WHOLE,
    FALLBACK_PARTIAL, /* some states could not be reverted */
};

struct run_result {
    const char *run_id;
    bool test, canceled;
    bool revert;                /* it reverted other runs; run_id is the newest of them */
    VEC(const char *) reverted; /* the ids of all of them, newest first */
    enum run_fallback fallback;
    uint32_t changed, failed, skipped;
    uint32_t handled;      /* failures that do not fail the run */
    uint32_t would_change; /* states with test: true */
    int64_t duration;
    VEC(struct state_result) states; /* in the order of execution: level, order, name */
};

/* Count what `states` holds. */
void run_result_count(struct run_result *result);

/* No state failed, unless another handled it, and nothing was cut short. */
bool run_result_is_success(const struct run_result *result);

#endif
