#include "state/plan.h"

#include "base/map.h"
#include "state/generic.h"
#include "state/module.h"

int64_t plan_find(const struct plan *plan, const char *name)
{
    const struct plan_state *state = map_find(plan->names, str_from(name));

    return state ? state - plan->states : -1;
}

int plan_decode(struct arena *arena, const struct plan_state *state, const struct value *body,
                struct diags *unknown, const void **ret_args, struct diags *diags)
{
    const struct module *module = state->module;
    const struct value id = value_at(value_text(state->id), body);
    const struct params_policy policy = {
        .allowed = generic_keys(),
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
