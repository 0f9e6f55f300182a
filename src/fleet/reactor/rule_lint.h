/*
 * rule_lint - warns about valid rules that are probably mistakes.
 *
 * For example an enrollment action for events of peels, or one that accepts every peel: both are
 * refused or limited when an event comes, so the author should know. Files are templates, so their
 * text is searched.
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
