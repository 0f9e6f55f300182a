/* iptables.set_policy - what happens to packets that no rule of a chain is about. */
#include <string.h>

#include "core/base/err.h"
#include "states/modules/iptables/ruleset.h"
#include "states/state/module.h"

#define ARGS struct rule_args

/* clang-format off */
static const struct param set_policy_params[] = {
    PARAM("name", STR, ARGS, name, "a name for the state", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("chain", STR, ARGS, chain, "a chain of the kernel", .flags = PARAM_REQUIRED),
    PARAM("policy", STR, ARGS, policy, "ACCEPT or DROP", .flags = PARAM_REQUIRED),
    PARAM("table", STR, ARGS, table, "the table", .default_text = "filter"),
    PARAM("family", CHOICE, ARGS, descendants, "iptables or ip6tables", .choices = "ipv4|ipv6", .default_text = "ipv4"),
    PARAM("save", ANY, ARGS, save, "keep the rules for the next start: true, or a file", .kind_text = "bool or path"),
    { 0 },
};
/* clang-format on */

static int set_policy_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct rule_args *want = args;
    int result = rule_validate(args, where, diags);

    if (strcmp(want->policy, "ACCEPT") != 0 && strcmp(want->policy, "DROP") != 0)
        result = value_diag(diags, value_point(where, "policy"), "'policy' must be ACCEPT or DROP");
    return result;
}

static int find_chain(struct state_run *run, const struct rule_args *want,
                      struct ruleset_chain *ret, struct err *err)
{
    if (ruleset_list(run, want, ret, err) < 0)
        return -1;
    if (!ret->policy)
        return err_set(err, ERR_NOT_FOUND, "table '%s' has no chain '%s' with a policy",
                       want->table, want->chain);
    return 0;
}

static int set_policy_check(struct state_run *run, const void *args, struct err *err)
{
    const struct rule_args *want = args;
    struct ruleset_chain chain;

    if (find_chain(run, want, &chain, err) < 0)
        return -1;
    if (strcmp(chain.policy, want->policy) != 0)
        state_diff(run, want->chain, chain.policy, want->policy);
    return ruleset_check_saved(run, want, err);
}

static int set_policy_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct rule_args *want = args;
    struct ruleset_chain chain;
    bool changed = false;

    if (find_chain(run, want, &chain, err) < 0)
        return -1;
    if (strcmp(chain.policy, want->policy) != 0) {
        changed = true;
        if (state_note(run, "policy", value_text(chain.policy), err) < 0 ||
            ruleset_command(run, want, "--policy", (const char *const[]){ want->policy, NULL },
                            err) < 0)
            return -1;
    }
    if (ruleset_save(run, want, &changed, err) < 0)
        return -1;
    if (!changed)
        state_unchanged(run);
    state_detail(run, "chain", "%s", want->chain);
    return 0;
}

static int set_policy_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct rule_args *want = args;
    const struct value *policy = state_noted(run, "policy");

    if (!value_is(policy, VALUE_STR)) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "the policy of chain '%s' is %s again", want->chain, policy->s.p);
    return ruleset_command(run, want, "--policy", (const char *const[]){ policy->s.p, NULL }, err);
}

const struct module module_iptables_set_policy = {
    .name = "iptables.set_policy",
    .summary = "the policy of a chain: for packets that match no rule",
    .example = "name: drop\nchain: FORWARD\npolicy: DROP\n",
    .params = set_policy_params,
    .args_size = sizeof(struct rule_args),
    .lock = RULESET_LOCK,
    .flags = MODULE_EXACT,
    .validate = set_policy_validate,
    .check = set_policy_check,
    .apply = set_policy_apply,
    .revert = set_policy_revert,
};
