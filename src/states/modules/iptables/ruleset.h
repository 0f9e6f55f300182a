/*
 * ruleset - the rules of the kernel, through iptables and ip6tables, and the file that keeps them.
 *
 * Rules are compared by iptables itself (--check). A revert undoes what a state did to one rule
 * and leaves those of others alone.
 *
 * Memory: the arena of the run. Threads: states that use it share RULESET_LOCK.
 */
#ifndef STATES_MODULES_IPTABLES_RULESET_H
#define STATES_MODULES_IPTABLES_RULESET_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "states/modules/iptables/rule.h"

struct err;
struct state_run;
struct value;

#define RULESET_LOCK "iptables"

/* A chain: its rules as iptables prints them ("-A INPUT -j ACCEPT"). */
struct ruleset_chain {
    bool exists;
    const char *policy; /* NULL: a chain of a user */
    VEC(const char *) rules;
};

int ruleset_has(struct state_run *run, const struct rule_args *args, bool *ret, struct err *err);
/* `verb` is --append, --insert or --delete; `position` NULL: none. Without `rule` the position, or
 * nothing, is all. */
int ruleset_change(struct state_run *run, const struct rule_args *args, const char *verb,
                   const char *position, bool rule, struct err *err);
/* --new-chain and the like: `more` follow the chain, and end in NULL. */
int ruleset_command(struct state_run *run, const struct rule_args *args, const char *verb,
                    const char *const *more, struct err *err);
int ruleset_list(struct state_run *run, const struct rule_args *args, struct ruleset_chain *ret,
                 struct err *err);
/* Every chain of the table, by name. */
int ruleset_chains(struct state_run *run, const struct rule_args *args, struct param_strs *ret,
                   struct err *err);

/* The lines of a chain for a note, and lines given to iptables-restore, which adds to what there
 * is: "-I INPUT 3 -j ACCEPT". */
struct value ruleset_note(struct state_run *run, const struct ruleset_chain *chain);
int ruleset_restore(struct state_run *run, const struct rule_args *args, struct str lines,
                    struct err *err);

/* Where the rules are kept; NULL: they are not. */
const char *ruleset_file(struct state_run *run, const struct rule_args *args);
/* For check: says so when the file does not have this chain as the kernel has it. */
int ruleset_check_saved(struct state_run *run, const struct rule_args *args, struct err *err);
/* For apply: write the file unless it is so. `ret_changed` is set, never cleared. */
int ruleset_save(struct state_run *run, const struct rule_args *args, bool *ret_changed,
                 struct err *err);

#endif
