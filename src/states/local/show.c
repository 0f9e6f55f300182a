#include "states/local/show.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "states/compile/generic.h"
#include "states/compile/plan.h"
#include "core/sys/clock.h"

static struct value show_guard(struct arena *arena, const struct plan_guard *guard)
{
    struct value map;

    if (guard->is_status || (!guard->function && guard->words.kind == VALUE_NULL))
        return value_text(guard->command);
    map = value_map(value_map_new(arena, 1));
    value_map_set(arena, map.map, value_text("fun"), value_text(guard->command));
    return map;
}

static void show_guards(struct arena *arena, struct value_map *map, const char *key,
                        const struct plan_guards *guards)
{
    struct value_list *list = value_list_new(arena, guards->n);

    for (size_t i = 0; i < guards->n; i++)
        value_list_push(arena, list, show_guard(arena, &guards->p[i]));
    if (guards->n > 0)
        value_map_set(arena, map, value_text(key), value_list(list));
}

static struct value show_retry(struct arena *arena, const struct plan_retry *retry)
{
    struct value map = value_map(value_map_new(arena, 3));

    value_map_set(arena, map.map, value_text("attempts"), value_int(retry->attempts));
    value_map_set(arena, map.map, value_text("interval"),
                  value_double((double)retry->interval / (double)CLOCK_SECOND));
    if (retry->splay > 0)
        value_map_set(arena, map.map, value_text("splay"),
                      value_double((double)retry->splay / (double)CLOCK_SECOND));
    return map;
}

static void show_texts(struct arena *arena, struct value_map *map, const char *key,
                       struct param_strs texts)
{
    struct value_list *list = value_list_new(arena, texts.n);

    for (size_t i = 0; i < texts.n; i++)
        value_list_push(arena, list, value_text(texts.p[i]));
    if (texts.n > 0)
        value_map_set(arena, map, value_text(key), value_list(list));
}

/* Attributes besides arguments, if set. */
static void show_attributes(struct arena *arena, struct value_map *map,
                            const struct plan_state *state)
{
    show_guards(arena, map, "onlyif", &state->onlyif);
    show_guards(arena, map, "unless", &state->unless);
    show_guards(arena, map, "check_cmd", &state->check_cmd);
    show_texts(arena, map, "creates", state->creates);
    if (state->guard_user)
        value_map_set(arena, map, value_text("runas"), value_text(state->guard_user));
    if (state->retry.attempts > 0)
        value_map_set(arena, map, value_text("retry"), show_retry(arena, &state->retry));
    if (state->failhard)
        value_map_set(arena, map, value_text("failhard"), value_bool(true));
}

/* As written, without the parts shown separately. */
static struct value show_arguments(struct arena *arena, const struct plan_state *state)
{
    struct value_map *map = value_map_new(arena, 4);

    if (!state->shown)
        return state->body;
    for (size_t i = 0; i < state->shown->count; i++)
        if (str_is(state->shown->pairs[i].key.s, "name") ||
            !generic_has(state->shown->pairs[i].key.s))
            value_map_set(arena, map, state->shown->pairs[i].key, state->shown->pairs[i].value);
    return value_map(map);
}

static struct value show_state(struct arena *arena, const struct plan *plan,
                               const struct plan_state *state)
{
    struct value map = value_map(value_map_new(arena, 8));

    value_map_set(arena, map.map, value_text("name"), value_text(state->name));
    value_map_set(arena, map.map, value_text("file"), value_text(state->ref ? state->ref : ""));
    value_map_set(arena, map.map, value_text("level"), value_int(state->level));
    value_map_set(arena, map.map, value_text("order"), value_int(state->order));
    value_map_set(arena, map.map, value_text("arguments"), show_arguments(arena, state));
    for (unsigned kind = 0; kind < REQUISITES; kind++) {
        struct value_list *names = value_list_new(arena, state->requisites[kind].n);

        for (size_t i = 0; i < state->requisites[kind].n; i++)
            value_list_push(arena, names,
                            value_text(plan->states[state->requisites[kind].p[i]].name));
        if (names->count > 0)
            value_map_set(arena, map.map, value_text(requisite_name((enum requisite)kind)),
                          value_list(names));
    }
    show_texts(arena, map.map, "absent", state->absent);
    show_attributes(arena, map.map, state);
    return map;
}

struct value show_plan(struct arena *arena, const struct plan *plan)
{
    struct value list = value_list(value_list_new(arena, plan->count));

    for (uint32_t i = 0; i < plan->count; i++)
        if (!plan->states[plan->order[i]].listener)
            value_list_push(arena, list.list,
                            show_state(arena, plan, &plan->states[plan->order[i]]));
    return list;
}

/* Does the state have a requisite of a kind below `kinds` on the target? */
static bool names_target(const struct plan_state *state, unsigned kinds, uint32_t target)
{
    for (unsigned kind = 0; kind < kinds; kind++)
        for (size_t k = 0; k < state->requisites[kind].n; k++)
            if (state->requisites[kind].p[k] == target)
                return true;
    return false;
}

/* Implied requisites are shown only where they decide the order, not where an explicit requisite,
 * direct or indirect, already does. */
static bool is_said_already(const struct plan *plan, const struct plan_state *state, unsigned kind,
                            uint32_t target)
{
    if (kind < REQUISITE_IMPLIED)
        return false;
    if (names_target(state, REQUISITE_IMPLIED, target))
        return true;
    for (unsigned other = 0; other < REQUISITE_IMPLIED; other++)
        for (size_t k = 0; k < state->requisites[other].n; k++)
            if (!requisite_rule((enum requisite)other)->later &&
                !requisite_rule((enum requisite)other)->apart &&
                names_target(&plan->states[state->requisites[other].p[k]], REQUISITES, target))
                return true;
    return false;
}

static void show_reasons(const struct plan *plan, const struct plan_state *state, struct buf *out)
{
    for (unsigned kind = 0; kind < REQUISITES; kind++)
        for (size_t k = 0; k < state->requisites[kind].n; k++)
            if (!is_said_already(plan, state, kind, state->requisites[kind].p[k]))
                buf_printf(out, "      %s %s\n", requisite_name((enum requisite)kind),
                           plan->states[state->requisites[kind].p[k]].name);
    for (size_t i = 0; i < state->absent.n; i++)
        buf_printf(out, "      %s: optional, and not part of this run\n", state->absent.p[i]);
}

void show_levels(const struct plan *plan, struct buf *out)
{
    for (uint32_t level = 0; level < plan->level_count; level++) {
        buf_printf(out, "Level %u:\n", level);
        for (uint32_t i = plan->level_start[level]; i < plan->level_start[level + 1]; i++) {
            const struct plan_state *state = &plan->states[plan->order[i]];

            buf_printf(out, "  %s\n", state->name);
            show_reasons(plan, state, out);
        }
    }
}

void show_counts(const struct plan *plan, struct buf *out)
{
    const uint32_t count = plan->count - plan->listeners;

    buf_printf(out, "%u state%s in %u level%s, no mistakes found", count, count == 1 ? "" : "s",
               plan->level_count, plan->level_count == 1 ? "" : "s");
}
