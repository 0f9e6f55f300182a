/* iptables.append - a rule is in a chain, at its end when it is new. */
#include "core/base/err.h"
#include "states/modules/iptables/placing.h"
#include "states/state/module.h"

static const struct param append_params[] = {
    RULE_PARAMS{ 0 },
};

static int append_check(struct state_run *run, const void *args, struct err *err)
{
    return placing_check(run, args, err);
}

static int append_apply(struct state_run *run, const void *args, struct err *err)
{
    return placing_apply(run, args, "--append", NULL, err);
}

const struct module module_iptables_append = {
    .name = "iptables.append",
    .summary = "a rule is in a chain, at its end when it is new",
    .details = "iptables itself compares: a rule that is anywhere in the chain is not added.",
    .example = "name: http\nchain: INPUT\nprotocol: tcp\ndport: 80\njump: ACCEPT\n",
    .params = append_params,
    .args_size = sizeof(struct rule_args),
    .lock = RULESET_LOCK,
    .flags = MODULE_EXACT,
    .validate = rule_validate,
    .check = append_check,
    .apply = append_apply,
    .revert = placing_revert,
};
