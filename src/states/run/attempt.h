/*
 * attempt - one state, once: arguments, guards, check, apply, check_cmd.
 *
 *     { attempt_run -> { attempt_again }... -> attempt_sum_up -> read its result }... ->
 * attempt_done
 *
 * An attempt without a journal never applies: a dry run, or the look ahead for prereq. The arena
 * is worker scratch; results are copied out.
 *
 * Threads: one at a time for each attempt.
 */
#ifndef STATES_RUN_ATTEMPT_H
#define STATES_RUN_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/sha256.h"
#include "states/undo/change.h"
#include "states/state/module.h"

struct draft_log;
struct err;
struct plan;
struct plan_state;
struct undo;

/* Longer output of a state is cut. */
#define ATTEMPT_TEXT_MAX ((size_t)4 << 20)

/* The runner data that attempts need. */
struct attempt_world {
    struct state_host *host;
    const struct plan *plan;
    struct undo *undo; /* NULL: never apply */
    struct draft_log *drafts;
    /* The details of an earlier state, by number; NULL: none, or not yet. */
    const struct value *(*details)(void *user, uint32_t state);
    /* The states of the current level that share a state's lock; NULL: none. May be NULL. */
    struct state_group *(*group)(void *user, uint32_t state);
    /* The state is about to be applied. */
    int (*before_apply)(void *user, uint32_t state, struct err *err);
    void *user;
    bool hashes; /* a dry run that may become a plan: fill `hash` */
};

/* The traces of an apply on the machine, even of a failed one. */
enum attempt_traces {
    TRACES_NONE,
    TRACES_UNKNOWN, /* a failed command: its effects are unknown */
    TRACES_CHANGED,
};

/* Earlier tries that changed something. */
struct attempt_past {
    struct arena arena;
    struct buf text;
    struct value_map *details;
    enum attempt_traces traces;
};

struct attempt {
    struct arena arena;
    struct state_run run;
    struct change change;
    struct state_report done; /* the differences that check found, for the report */
    bool changed;             /* or would change */
    enum attempt_traces traces;
    struct attempt_past past;
    struct sha256 plan_binding;
    unsigned char hash[SHA256_SIZE]; /* hash of the planned change */
};

void attempt_done(struct attempt *attempt);

/* Start over with a state. Returns -1 when it failed; its output is in `run`. */
int attempt_run(struct attempt *attempt, const struct attempt_world *world, uint32_t state,
                bool forced, struct err *err);
/* Try again after a failure. */
int attempt_again(struct attempt *attempt, const struct attempt_world *world, uint32_t state,
                  bool forced, struct err *err);
/* After the last try: merge the changes and output of earlier tries. */
void attempt_sum_up(struct attempt *attempt);

#endif
