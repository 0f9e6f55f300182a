/*
 * placing - a rule that must be in a chain, whether it is appended or inserted.
 *
 * Threads: any.
 */
#ifndef STATES_MODULES_IPTABLES_PLACING_H
#define STATES_MODULES_IPTABLES_PLACING_H

#include "states/modules/iptables/ruleset.h"

int placing_check(struct state_run *run, const struct rule_args *args, struct err *err);
/* `verb` is --append or --insert; `position` NULL: none. */
int placing_apply(struct state_run *run, const struct rule_args *args, const char *verb,
                  const char *position, struct err *err);
int placing_revert(struct state_run *run, const void *args, struct err *err);

#endif
