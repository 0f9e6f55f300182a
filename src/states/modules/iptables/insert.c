/* iptables.insert - a rule is in a chain, at a position when it is new. */
#include "core/base/err.h"
#include "states/modules/iptables/placing.h"
#include "states/state/module.h"

/* clang-format off */
static const struct param insert_params[] = {
    PARAM("position", INT, struct rule_args, position, "where a new rule comes, from 1; -1: before the last one", .default_text = "1", PARAM_RANGE(-65535, 65535)),
    RULE_PARAMS
    { 0 },
};
/* clang-format on */

static int insert_check(struct state_run *run, const void *args, struct err *err)
{
    return placing_check(run, args, err);
}

/* Counted from the end when it is negative. */
static int find_position(struct state_run *run, const struct rule_args *want, int64_t *ret,
                         struct err *err)
{
    struct ruleset_chain chain;

    *ret = want->position;
    if (want->position > 0)
        return 0;
    if (ruleset_list(run, want, &chain, err) < 0)
        return -1;
    *ret = (int64_t)chain.rules.n + want->position + 1;
    if (*ret < 1)
        *ret = 1;
    return 0;
}

static int insert_apply(struct state_run *run, const void *args, struct err *err)
{
    int64_t position;

    if (find_position(run, args, &position, err) < 0)
        return -1;
    return placing_apply(run, args, "--insert",
                         arena_printf(run->arena, "%lld", (long long)position), err);
}

const struct module module_iptables_insert = {
    .name = "iptables.insert",
    .summary = "a rule is in a chain, at a position when it is new",
    .details = "iptables itself compares: a rule that is anywhere in the chain is not moved.",
    .example = "name: http\nposition: 1\nchain: INPUT\nprotocol: tcp\ndport: 80\njump: ACCEPT\n",
    .params = insert_params,
    .args_size = sizeof(struct rule_args),
    .lock = RULESET_LOCK,
    .flags = MODULE_EXACT,
    .validate = rule_validate,
    .check = insert_check,
    .apply = insert_apply,
    .revert = placing_revert,
};
