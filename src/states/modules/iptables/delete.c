/* iptables.delete - a rule is not in a chain. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/iptables/ruleset.h"
#include "states/state/module.h"

/* clang-format off */
static const struct param delete_params[] = {
    PARAM("position", INT, struct rule_args, position, "the rule at this position, instead of one that is described", PARAM_RANGE(1, 65535), PARAM_GIVEN(struct rule_args, has_position)),
    RULE_PARAMS
    { 0 },
};
/* clang-format on */

/* By its position a rule is there as long as the chain is that long: each run would remove one. */
static int delete_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct rule_args *want = args;
    int result = rule_validate(args, where, diags);

    if (want->has_position && (want->jump || want->jump_to))
        result = value_diag(diags, value_point(where, "position"),
                            "'position' and a rule cannot both be given");
    return result;
}

static int find_wanted_rule(struct state_run *run, const struct rule_args *want,
                            const struct ruleset_chain *chain, bool *ret, struct err *err)
{
    if (want->has_position) {
        *ret = (size_t)want->position <= chain->rules.n;
        return 0;
    }
    return ruleset_has(run, want, ret, err);
}

static int delete_check(struct state_run *run, const void *args, struct err *err)
{
    const struct rule_args *want = args;
    struct ruleset_chain chain;
    bool has;

    if (ruleset_list(run, want, &chain, err) < 0 ||
        find_wanted_rule(run, want, &chain, &has, err) < 0)
        return -1;
    if (has) {
        state_differs(run, "chain '%s' of table '%s' has the rule", want->chain, want->table);
        state_made(run, "removed the rule from chain '%s' of table '%s'", want->chain, want->table);
    }
    if (ruleset_check_saved(run, want, err) < 0)
        return -1;
    if (!run->differs)
        state_say(run, "chain '%s' of table '%s' does not have the rule", want->chain, want->table);
    return 0;
}

static int look_at_chain(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    struct ruleset_chain now;

    if (ruleset_list(run, args, &now, err) < 0)
        return -1;
    *ret = ruleset_note(run, &now);
    return 0;
}

static int remove_rule(struct state_run *run, const struct rule_args *want,
                       const struct ruleset_chain *before, struct err *err)
{
    const char *position =
        want->has_position ? arena_printf(run->arena, "%lld", (long long)want->position) : NULL;
    int rc;

    if (state_note(run, "before", ruleset_note(run, before), err) < 0)
        return -1;
    rc = ruleset_change(run, want, "--delete", position, !want->has_position, err);
    return run_tool_note_after(run, want, look_at_chain, rc, err);
}

static int delete_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct rule_args *want = args;
    struct ruleset_chain chain;
    bool has, saved = false;

    if (ruleset_list(run, want, &chain, err) < 0 ||
        find_wanted_rule(run, want, &chain, &has, err) < 0 ||
        (has && remove_rule(run, want, &chain, err) < 0) ||
        ruleset_save(run, want, &saved, err) < 0)
        return -1;
    if (!has && !saved)
        state_unchanged(run);
    state_detail(run, "chain", "%s", want->chain);
    return 0;
}

/* The first rule of `before` that `after` does not have in its place. */
static size_t find_removed_rule(const struct value_list *before, const struct value_list *after)
{
    size_t i = 0;

    while (i < after->count && i < before->count && str_eq(before->items[i].s, after->items[i].s))
        i++;
    return i;
}

static int delete_revert(struct state_run *run, const void *args, struct err *err)
{
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT);
    const struct rule_args *want = args;
    const struct value *before = state_noted(run, "before"), *after = state_noted(run, "after");
    struct ruleset_chain now;
    struct value there;
    size_t at, place;
    const char *rule;

    if (!value_is(before, VALUE_LIST)) {
        state_unchanged(run);
        return 0;
    }
    if (ruleset_list(run, want, &now, err) < 0)
        return -1;
    there = ruleset_note(run, &now);
    if (!after && now.rules.n + 1 == before->list->count)
        after = &there; /* the machine stopped before it was known, and one rule is missing */
    at = after ? find_removed_rule(before->list, after->list) : before->list->count;
    if (at >= before->list->count) {
        state_unchanged(run);
        return 0;
    }
    place = at < now.rules.n ? at : now.rules.n;
    rule = before->list->items[at].s.p + strlen("-A ") + strlen(want->chain);
    buf_printf(&line, "-I %s %zu%s\n", want->chain, place + 1, rule);
    state_say(run, "put the rule back into chain '%s'", want->chain);
    return ruleset_restore(run, want, buf_view(&line), err);
}

const struct module module_iptables_delete = {
    .name = "iptables.delete",
    .summary = "a rule is not in a chain",
    .details = "With 'position' each run removes the rule that is there then.",
    .example = "name: http\nchain: INPUT\nprotocol: tcp\ndport: 80\njump: ACCEPT\n",
    .params = delete_params,
    .args_size = sizeof(struct rule_args),
    .lock = RULESET_LOCK,
    .flags = MODULE_EXACT,
    .validate = delete_validate,
    .check = delete_check,
    .apply = delete_apply,
    .revert = delete_revert,
};
