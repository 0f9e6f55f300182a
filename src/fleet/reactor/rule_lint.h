/*
 * rule_lint - rules that are allowed and are probably a mistake.
 *
 * An action of enrollment behind a pattern that events of peels match, and one that accepts every
 * peel: both are refused or gated when an event comes, and whoever wrote them should know. Files
 * are templates, so what they hold is found in their text.
 *
 * Pure. Threads: any.
 */
#ifndef FLEET_REACTOR_RULE_LINT_H
#define FLEET_REACTOR_RULE_LINT_H

struct diags;
struct rule;
struct value;

/* A pattern that no key of an event can match. */
void rule_lint_pattern(const struct value *pattern, struct diags *lints);
/* A rule with its file. */
void rule_lint(const struct rule *rule, struct diags *lints);

#endif
