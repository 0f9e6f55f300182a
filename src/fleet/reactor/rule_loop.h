/*
 * rule_loop - reactions whose events fire the same reactions again.
 *
 * A block event.send makes the event "_master/reaction/<tag>". If a rule for it leads back to the
 * block's file, every event causes more events, up to the depth limit. That is valid, but seldom
 * intended.
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

/* A tag that a file always sends. */
struct rule_send {
    const char *path; /* of the file in the tree */
    const char *tag;
    const struct value *key; /* the action, for its place */
};

struct rule_sends {
    VEC(struct rule_send) list;
};

/* Warns about each block that leads back to its own file. */
void rule_loop_lint(const struct rule_set *set, const struct rule_sends *sends,
                    struct diags *lints);

#endif
