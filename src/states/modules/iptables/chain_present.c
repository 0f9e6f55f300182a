/* iptables.chain_present - a chain exists. */
#include "core/base/err.h"
#include "states/modules/iptables/ruleset.h"
#include "states/state/module.h"

#define ARGS struct rule_args

/* clang-format off */
static const struct param chain_present_params[] = {
    PARAM("name", STR, ARGS, chain, "the chain", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("table", STR, ARGS, table, "the table", .default_text = "filter"),
    PARAM("family", CHOICE, ARGS, descendants, "iptables or ip6tables", .choices = "ipv4|ipv6", .default_text = "ipv4"),
    { 0 },
};
/* clang-format on */

static int chain_present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct rule_args *want = args;
    struct ruleset_chain chain;

    if (ruleset_list(run, want, &chain, err) < 0)
        return -1;
    if (chain.exists) {
        state_say(run, "chain '%s' of table '%s' exists", want->chain, want->table);
        return 0;
    }
    state_differs(run, "chain '%s' of table '%s' does not exist", want->chain, want->table);
    state_made(run, "created chain '%s' of table '%s'", want->chain, want->table);
    return 0;
}

static int chain_present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct rule_args *want = args;
    struct ruleset_chain chain;

    if (ruleset_list(run, want, &chain, err) < 0)
        return -1;
    if (chain.exists) {
        state_unchanged(run);
        return 0;
    }
    if (state_note(run, "created", value_bool(true), err) < 0)
        return -1;
    state_detail(run, "chain", "%s", want->chain);
    return ruleset_command(run, want, "--new-chain", NULL, err);
}

/* One that has rules by now, or is used, stays: the error of iptables says so. */
static int chain_present_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct rule_args *want = args;
    struct ruleset_chain chain = { 0 };

    if (state_noted(run, "created") && ruleset_list(run, want, &chain, err) < 0)
        return -1;
    if (!chain.exists) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "removed chain '%s' of table '%s'", want->chain, want->table);
    return ruleset_command(run, want, "--delete-chain", NULL, err);
}

const struct module module_iptables_chain_present = {
    .name = "iptables.chain_present",
    .summary = "a chain exists",
    .example = "name: LOGDROP\n",
    .params = chain_present_params,
    .args_size = sizeof(struct rule_args),
    .lock = RULESET_LOCK,
    .flags = MODULE_EXACT,
    .validate = rule_validate,
    .check = chain_present_check,
    .apply = chain_present_apply,
    .revert = chain_present_revert,
};
