#include "run/bound.h"

#include "base/arena.h"
#include "base/diag.h"
#include "base/err.h"
#include "data/value.h"
#include "state/outcome.h"

static bool is_true(const struct value *v, const char *key)
{
    const struct value *flag = value_get(v, key);

    return value_is(flag, VALUE_BOOL) && flag->b;
}

/* A record is a list of machines; this one must be in it. */
static const struct value *find_machine(const struct value *record, const char *peel_id)
{
    for (size_t i = 0; record->kind == VALUE_LIST && i < record->list->count; i++)
        if (str_is(value_get_view(&record->list->items[i], "peel_id"), peel_id))
            return &record->list->items[i];
    return NULL;
}

int bound_read(struct arena *arena, const struct value *record, const char *peel_id,
               struct bound *ret, struct err *err)
{
    const struct value *machine = find_machine(record, peel_id);
    const struct value *results = value_get(machine, "results");

    if (!machine || !value_is(results, VALUE_LIST))
        return err_set(err, ERR_INVALID, "it contains no dry run of '%s'", peel_id);
    if (!is_true(machine, "test"))
        return err_set(err, ERR_INVALID, "it contains a run of '%s', not a dry run", peel_id);
    *ret = (struct bound){ .changes = MAP_INIT_IN(arena) };
    for (size_t i = 0; i < results->list->count; i++) {
        const struct value *state = &results->list->items[i];
        struct str *diff;

        if (!is_true(state, "changed"))
            continue;
        diff = ARENA_NEW(arena, struct str);
        *diff = arena_str(arena, value_get_view(state, "diff"));
        map_set(&ret->changes, arena_str(arena, value_get_view(state, "name")), diff);
    }
    return 0;
}

bool bound_has(const struct bound *bound, const char *name)
{
    return map_has(&bound->changes, str_from(name));
}

int bound_compare(const struct bound *bound, const struct run_result *now, struct diags *diags)
{
    int result = 0;

    VEC_EACH (&now->states, state) {
        const struct str *diff = map_find(&bound->changes, str_from(state->name));

        if (state->outcome != OUTCOME_CHANGED || (diff && str_eq(*diff, state->diff)))
            continue;
        result = diag_add(diags, (struct place){ 0 },
                          diff ? "%s would change differently from the plan:\n"
                                 "%.*s"
                               : "%s would change, but not in the plan:\n"
                                 "%.*s",
                          state->name, STR_ARG(state->diff));
    }
    if (result < 0)
        diag_hint(diags, "nothing was changed; review and store a new dry run");
    return result;
}
