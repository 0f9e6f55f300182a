/*
 * revert_wish - the arguments of state.revert: what to revert, and how far back.
 *
 *     revert_wish_read -> revert_wish_choose -> revert_run
 *
 * Shared by `zester --local`, the agent, and commands that send it. Memory: the arena. Threads:
 * any.
 */
#ifndef STATES_LOCAL_REVERT_WISH_H
#define STATES_LOCAL_REVERT_WISH_H

#include <stdbool.h>

struct arena;
struct diags;
struct revert_options;
struct value;

struct revert_wish {
    const char *target; /* "": any reference */
    bool force, all, yes;
    const char *since; /* "2h", "2026-11-19T10:00:00Z"; NULL: not given */
    const char *to;    /* a run ID; NULL: not given */
};

/* Read a map of arguments. `word` is the target given without a name; "": none. */
int revert_wish_read(struct arena *arena, const struct value *given, const char *word,
                     struct revert_wish *ret, struct diags *diags);
/* What does not fit together, for those who send it to other machines, too. */
int revert_wish_check(const struct revert_wish *wish, struct diags *diags);
/* Does it ask for more than one run? Then it must say yes. */
bool revert_wish_is_many(const struct revert_wish *wish);
#define REVERT_WISH_UNSURE                                                                         \
    "'all', 'since' and 'to' may revert many runs: a dry run (test=True) shows them, and "         \
    "yes=True "                                                                                    \
    "reverts them"
/* Sets all but `has_run`, `test` and `agreed`. Ages count from now. */
int revert_wish_choose(const struct revert_wish *wish, struct revert_options *ret,
                       struct diags *diags);

#endif
