/*
 * report_fold - the runs of many machines as few lines: failures with one cause, the slowest
 * states, plans that are the same.
 *
 * Texts that name their machine differ only by that: its name counts as '*'.
 *
 * Pure. Memory: the arena; borrows the machines. Threads: any.
 */
#ifndef COMMANDS_CLI_SHARED_REPORT_FOLD_H
#define COMMANDS_CLI_SHARED_REPORT_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "states/state/outcome.h"

struct arena;
struct lastrun;

struct report_state {
    const char *name;
    uint32_t level;
    enum state_outcome outcome;
    int64_t duration;           /* nanoseconds */
    const char *error, *reason; /* of a failure; of a skip. "": none */
    const char *again;          /* why it would change again. NULL, "": it would not */
    const char *diff;
    const uint32_t *needs; /* places of the states that its requisites name */
    size_t need_count;
};

struct report_machine {
    const char *name, *os;
    bool is_online;
    const char *drift;           /* its name; a class of the style sheet */
    const char *drift_text;      /* what differs */
    const struct lastrun *run;   /* its last run; NULL: none is known */
    const struct lastrun *shown; /* the run of the states below; NULL: there are none */
    const char *note;            /* why there are no states, or not all; "" */
    VEC(struct report_state) states;
};

/* Failures with one cause. */
struct report_cause {
    const char *state, *error; /* with '*' for the machine */
    VEC(const struct report_machine *) machines;
    size_t skipped; /* states that were skipped on these machines */
};
struct report_causes {
    VEC(struct report_cause *) list; /* those of most machines first */
};
void report_fold_causes(struct arena *arena, const struct report_machine *machines, size_t count,
                        struct report_causes *ret);

struct report_slow {
    const char *state; /* with '*' for the machine */
    int64_t longest;
    double total; /* nanoseconds */
    size_t count;
    const struct report_machine *machine; /* where it took longest */
};
struct report_slows {
    VEC(struct report_slow *) list; /* the slowest first */
};
void report_fold_slow(struct arena *arena, const struct report_machine *machines, size_t count,
                      struct report_slows *ret);

/* Machines with the same states and requisites. */
struct report_plan {
    VEC(const struct report_machine *) machines;
    enum state_outcome *outcomes; /* of each state of the first one: of all machines together */
};
struct report_plans {
    VEC(struct report_plan *) list; /* those of most machines first */
};
void report_fold_plans(struct arena *arena, const struct report_machine *machines, size_t count,
                       struct report_plans *ret);

/* The text with '*' wherever the word `machine` stands in it. */
const char *report_fold_text(struct arena *arena, const char *text, const char *machine);

#endif
