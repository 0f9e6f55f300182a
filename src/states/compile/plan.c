#include "states/compile/plan.h"

#include "core/base/map.h"
#include "core/base/suggest.h"
#include "states/compile/dialect.h"
#include "states/compile/generic.h"
#include "states/compile/guards.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/compile/output.h"
#include "states/compile/slot.h"

int64_t plan_find(const struct plan *plan, const char *name)
{
    const struct plan_state *state = map_find(plan->names, str_from(name));

    return state ? state - plan->states : -1;
}

bool plan_has_mistakes(const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->states[i].mistake)
            return true;
    return false;
}

bool plan_is_strict(const struct plan_state *state, const struct state_host *host)
{
    if (state->module && (state->module->flags & MODULE_EXACT))
        return true;
    return host->strict_params && !state->dialect->ignores_parameters;
}

int plan_decode(struct arena *arena, const struct plan_state *state, const struct value *body,
                struct diags *unknown, const void **ret_args, struct diags *diags)
{
    const struct module *module = state->module;
    const struct value id = value_at(value_text(state->id), body);
    /* Without a meaning for the module: see add_name_argument() and GUARD_EXCLUDES. */
    static const char *const always[] = { "name", NULL };
    static const char *const salts[] = { "name", GUARD_EXCLUDES, NULL };
    const struct params_policy policy = {
        .allowed = state->dialect && state->dialect->salt_attributes ? salts : always,
        .offer = generic_offer,
        .owner = module->name,
        .primary = &id,
        .unknown = unknown,
    };
    void *args = arena_zalloc(arena, module->args_size + 1);

    if (params_decode(arena, module->params, &policy, body, args, diags) < 0)
        return -1;
    if (module->validate && module->validate(args, body, diags) < 0)
        return -1;
    *ret_args = args;
    return 0;
}

static int refuse_unknown_argument(const struct module *module, const struct value *key,
                                   struct diags *diags)
{
    struct suggest best;

    (void)value_diag(diags, key, "%s has no parameter '%s'", module->name, key->s.p);
    suggest_init(&best, key->s);
    for (const struct param *p = module->params; p->name; p++)
        if (!(p->flags & (PARAM_UNSUPPORTED | PARAM_REST)))
            suggest_offer(&best, str_from(p->name));
    generic_offer(&best);
    if (suggest_best(&best).p)
        diag_hint(diags, "did you mean '%.*s'?", STR_ARG(suggest_best(&best)));
    return -1;
}

int plan_check_given(struct arena *arena, const struct plan_state *state, struct diags *unknown,
                     struct diags *diags)
{
    const struct params_policy policy = { .owner = state->module->name, .unknown = unknown };
    const struct value_map *body = state->body.map;
    void *scratch = arena_zalloc(arena, state->module->args_size + 1);
    int result = 0;

    for (size_t i = 0; i < body->count; i++) {
        const struct value_pair *pair = &body->pairs[i];
        const struct param *param = params_find(state->module->params, pair->key.s);

        if (!param && str_is(pair->key.s, "name"))
            continue;
        if (!param && unknown && params_find_rest(state->module->params, &state->body))
            continue;
        if (!param && unknown)
            (void)refuse_unknown_argument(state->module, &pair->key, unknown);
        else if (!param)
            result |= refuse_unknown_argument(state->module, &pair->key, diags);
        else if (param->flags & PARAM_UNSUPPORTED)
            result |= params_refuse(param, &policy, pair, false, diags);
        else if (pair->value.kind != VALUE_NULL && !output_has_mark(&pair->value) &&
                 !slot_find(&pair->value))
            result |= params_decode_one(arena, param, &policy, &pair->value, scratch, diags);
    }
    return result;
}
