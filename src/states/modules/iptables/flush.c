/* iptables.flush - a chain, or every chain of a table, has no rules. */
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/iptables/ruleset.h"
#include "states/state/module.h"

#define ARGS struct rule_args

/* clang-format off */
static const struct param flush_params[] = {
    PARAM("name", STR, ARGS, name, "a name for the state", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("chain", STR, ARGS, chain, "the chain (default: every chain of the table)", .flags = PARAM_FILLED),
    PARAM("table", STR, ARGS, table, "the table", .default_text = "filter"),
    PARAM("family", CHOICE, ARGS, descendants, "iptables or ip6tables", .choices = "ipv4|ipv6", .default_text = "ipv4"),
    { 0 },
};
/* clang-format on */

/* All rules that are to go. */
static int find_rules(struct state_run *run, const struct rule_args *want, struct buf *ret_lines,
                      struct err *err)
{
    struct param_strs chains = { 1, &want->chain };

    if (!want->chain && ruleset_chains(run, want, &chains, err) < 0)
        return -1;
    for (size_t i = 0; i < chains.n; i++) {
        struct rule_args one = *want;
        struct ruleset_chain chain;

        one.chain = chains.p[i];
        if (ruleset_list(run, &one, &chain, err) < 0)
            return -1;
        VEC_EACH (&chain.rules, rule)
            buf_printf(ret_lines, "%s\n", *rule);
    }
    return 0;
}

static int flush_check(struct state_run *run, const void *args, struct err *err)
{
    AUTO_BUF struct buf lines = BUF_INIT(BUF_NO_LIMIT);
    const struct rule_args *want = args;
    const char *what = want->chain ? want->chain : want->table;

    if (find_rules(run, want, &lines, err) < 0)
        return -1;
    if (lines.n == 0) {
        state_say(run, "%s '%s' has no rules", want->chain ? "chain" : "table", what);
        return 0;
    }
    state_differs(run, "%s '%s' has rules", want->chain ? "chain" : "table", what);
    state_made(run, "removed all rules of %s '%s'", want->chain ? "chain" : "table", what);
    return 0;
}

static int flush_apply(struct state_run *run, const void *args, struct err *err)
{
    AUTO_BUF struct buf lines = BUF_INIT(BUF_NO_LIMIT);
    const struct rule_args *want = args;

    if (find_rules(run, want, &lines, err) < 0)
        return -1;
    if (lines.n == 0) {
        state_unchanged(run);
        return 0;
    }
    if (state_note(run, "rules", value_str(buf_copy(&lines, run->arena)), err) < 0)
        return -1;
    state_detail(run, "table", "%s", want->table);
    return ruleset_command(run, want, "--flush", NULL, err);
}

static int flush_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct rule_args *want = args;
    const struct value *rules = state_noted(run, "rules");

    if (!value_is(rules, VALUE_STR)) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "restored the rules of table '%s'", want->table);
    return ruleset_restore(run, want, rules->s, err);
}

const struct module module_iptables_flush = {
    .name = "iptables.flush",
    .summary = "a chain, or every chain of a table, has no rules",
    .example = "name: clean\nchain: FORWARD\n",
    .params = flush_params,
    .args_size = sizeof(struct rule_args),
    .lock = RULESET_LOCK,
    .flags = MODULE_EXACT,
    .validate = rule_validate,
    .check = flush_check,
    .apply = flush_apply,
    .revert = flush_revert,
};
