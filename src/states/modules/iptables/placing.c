#include "states/modules/iptables/placing.h"

#include "core/base/err.h"
#include "states/state/module.h"

int placing_check(struct state_run *run, const struct rule_args *args, struct err *err)
{
    bool has;

    if (ruleset_has(run, args, &has, err) < 0)
        return -1;
    if (!has) {
        state_differs(run, "chain '%s' of table '%s' does not have the rule", args->chain,
                      args->table);
        state_made(run, "added the rule to chain '%s' of table '%s'", args->chain, args->table);
    }
    if (ruleset_check_saved(run, args, err) < 0)
        return -1;
    if (!run->differs)
        state_say(run, "chain '%s' of table '%s' has the rule", args->chain, args->table);
    return 0;
}

int placing_apply(struct state_run *run, const struct rule_args *args, const char *verb,
                  const char *position, struct err *err)
{
    bool has, saved = false;

    if (ruleset_has(run, args, &has, err) < 0)
        return -1;
    if (!has && (state_note(run, "added", value_bool(true), err) < 0 ||
                 ruleset_change(run, args, verb, position, true, err) < 0))
        return -1;
    if (ruleset_save(run, args, &saved, err) < 0)
        return -1;
    if (has && !saved)
        state_unchanged(run);
    state_detail(run, "chain", "%s", args->chain);
    return 0;
}

int placing_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct rule_args *want = args;
    bool has = false;

    if (state_noted(run, "added") && ruleset_has(run, want, &has, err) < 0)
        return -1;
    if (!has) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "removed the rule from chain '%s' of table '%s'", want->chain, want->table);
    return ruleset_change(run, want, "--delete", NULL, true, err);
}
