/*
 * attempt - one state, once: arguments, guards, check, apply, check_cmd.
 *
 *     { attempt_run -> { attempt_again }... -> attempt_sum_up -> read what it said }... ->
 * attempt_done
 *
 * An attempt without a journal never applies: that is a dry run, and the look ahead
 * of prereq. The arena is scratch of the worker; what should stay is copied out.
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

/* Longer texts of a state are cut. */
#define ATTEMPT_TEXT_MAX ((size_t)4 << 20)

/* What the runner knows and an attempt needs. */
struct attempt_world {
    struct state_host *host;
    const struct plan *plan;
    struct undo *undo; /* NULL: never apply */
    struct draft_log *drafts;
    /* What an earlier state said, by its number; NULL: nothing, or not yet. */
    const struct value *(*details)(void *user, uint32_t state);
    /* Those that share the lock of a state in the level that runs; NULL: none. May be NULL. */
    struct state_group *(*group)(void *user, uint32_t state);
    /* The state is about to be applied. */
    int (*before_apply)(void *user, uint32_t state, struct err *err);
    void *user;
    bool hashes; /* a dry run that can become a plan: `hash` of attempts is wanted */
};

/* What a state that was applied has left on the machine, also when it failed. */
enum attempt_traces {
    TRACES_NONE,
    TRACES_UNKNOWN, /* a command that failed: nobody knows what it did until then */
    TRACES_CHANGED,
};

/* The tries before the last one that changed something. */
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
    struct state_report done; /* what check found, in the words of a report */
    bool changed;             /* or would change */
    enum attempt_traces traces;
    struct attempt_past past;
    struct sha256 plan_binding;
    unsigned char hash[SHA256_SIZE]; /* of what would change, shown or not */
};

void attempt_done(struct attempt *attempt);

/* Forgets what was there before. Returns -1 when the state failed; what it said until then is in
 * `run`. */
int attempt_run(struct attempt *attempt, const struct attempt_world *world, uint32_t state,
                bool forced, struct err *err);
/* The same once more, after it failed. */
int attempt_again(struct attempt *attempt, const struct attempt_world *world, uint32_t state,
                  bool forced, struct err *err);
/* After the last try: what earlier ones changed counts, and so do their words. */
void attempt_sum_up(struct attempt *attempt);

#endif
