/* iptables.chain_absent - a chain does not exist. */
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/iptables/ruleset.h"
#include "states/state/module.h"

#define ARGS struct rule_args

/* clang-format off */
static const struct param chain_absent_params[] = {
    PARAM("name", STR, ARGS, chain, "the chain", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("table", STR, ARGS, table, "the table", .default_text = "filter"),
    PARAM("family", CHOICE, ARGS, descendants, "iptables or ip6tables", .choices = "ipv4|ipv6", .default_text = "ipv4"),
    { 0 },
};
/* clang-format on */

static int chain_absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct rule_args *want = args;
    struct ruleset_chain chain;

    if (ruleset_list(run, want, &chain, err) < 0)
        return -1;
    if (!chain.exists) {
        state_say(run, "chain '%s' of table '%s' does not exist", want->chain, want->table);
        return 0;
    }
    state_differs(run, "chain '%s' of table '%s' exists, with %zu rules", want->chain, want->table,
                  chain.rules.n);
    state_made(run, "removed chain '%s' of table '%s'", want->chain, want->table);
    return 0;
}

static int chain_absent_apply(struct state_run *run, const void *args, struct err *err)
{
    AUTO_BUF struct buf lines = BUF_INIT(BUF_NO_LIMIT);
    const struct rule_args *want = args;
    struct ruleset_chain chain;

    if (ruleset_list(run, want, &chain, err) < 0)
        return -1;
    if (!chain.exists) {
        state_unchanged(run);
        return 0;
    }
    if (state_note(run, "rules", ruleset_note(run, &chain), err) < 0)
        return -1;
    state_detail(run, "chain", "%s", want->chain);
    buf_printf(&lines, "-F %s\n-X %s\n", want->chain, want->chain);
    return ruleset_restore(run, want, buf_view(&lines), err); /* both, or neither */
}

static int chain_absent_revert(struct state_run *run, const void *args, struct err *err)
{
    AUTO_BUF struct buf lines = BUF_INIT(BUF_NO_LIMIT);
    const struct rule_args *want = args;
    const struct value *rules = state_noted(run, "rules");
    struct ruleset_chain chain;

    if (ruleset_list(run, want, &chain, err) < 0)
        return -1;
    if (!value_is(rules, VALUE_LIST) || chain.rules.n > 0) {
        state_unchanged(run);
        return 0;
    }
    buf_printf(&lines, ":%s - [0:0]\n", want->chain);
    for (size_t i = 0; i < rules->list->count; i++)
        buf_printf(&lines, "%s\n", rules->list->items[i].s.p);
    state_say(run, "created chain '%s' of table '%s' again", want->chain, want->table);
    return ruleset_restore(run, want, buf_view(&lines), err);
}

const struct module module_iptables_chain_absent = {
    .name = "iptables.chain_absent",
    .summary = "a chain does not exist",
    .details = "Its rules are removed first. One that rules of other chains jump to cannot go.",
    .example = "name: LOGDROP\n",
    .params = chain_absent_params,
    .args_size = sizeof(struct rule_args),
    .lock = RULESET_LOCK,
    .flags = MODULE_EXACT,
    .validate = rule_validate,
    .check = chain_absent_check,
    .apply = chain_absent_apply,
    .revert = chain_absent_revert,
};
