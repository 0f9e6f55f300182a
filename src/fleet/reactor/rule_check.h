/*
 * rule_check - finds every mistake in a tree of rules before it is published.
 *
 * Checks more than loading: also reads reaction files, as far as possible without an event, even
 * those that no rule names.
 *
 * Pure. Memory: the arena of the diagnostics. Threads: any.
 */
#ifndef FLEET_REACTOR_RULE_CHECK_H
#define FLEET_REACTOR_RULE_CHECK_H

#include <stddef.h>

struct diags;
struct reaction_env;
struct rule_file;

struct rule_check_result {
    size_t rules, files; /* pairs of entry and ref, and reaction files */
};

/* `env` must be lenient. Returns -1 if it added to `diags`; `lints` are warnings. */
int rule_check(struct reaction_env *env, const struct rule_file *files, size_t count,
               struct rule_check_result *ret_result, struct diags *diags, struct diags *lints);

#endif
