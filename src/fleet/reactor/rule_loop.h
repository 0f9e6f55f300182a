/*
 * rule_loop - reactions whose events fire the same reactions again.
 *
 * A block event.send makes the event "_master/reaction/<tag>". When a rule for it leads back to the
 * file of the block, every event that comes in is followed by others until the limit of the chain
 * ends them. That is allowed, and seldom meant.
 *
 * Pure. Memory: the arena of the diagnostics. Threads: any.
 */
#ifndef FLEET_REACTOR_RULE_LOOP_H
#define FLEET_REACTOR_RULE_LOOP_H

#include "core/base/vec.h"

struct arena;
struct diags;
struct rule_set;
struct value;

/* A tag that a file sends, whatever the event is. */
struct rule_send {
    const char *path; /* of the file in the tree */
    const char *tag;
    const struct value *key; /* the action, for its place */
};

struct rule_sends {
    VEC(struct rule_send) list;
};

/* A warning for each block that begins a way back to its own file. */
void rule_loop_lint(const struct rule_set *set, const struct rule_sends *sends,
                    struct diags *lints);

#endif
