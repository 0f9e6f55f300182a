/* Functions of `zester --local` that only show states. */
#include "cli/local.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/drawing.h"
#include "cli/graph_print.h"
#include "compile/generic.h"
#include "compile/plan.h"
#include "data/json.h"
#include "data/yaml_print.h"
#include "state/secrets.h"
#include "sys/clock.h"

static struct value show_guard(struct arena *arena, const struct plan_guard *guard)
{
    struct value map;

    if (!guard->function)
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

/* Attributes besides arguments; only those that are set. */
static void show_attributes(struct arena *arena, struct value_map *map,
                            const struct plan_state *state)
{
    struct value_list *creates = value_list_new(arena, state->creates.n);

    show_guards(arena, map, "onlyif", &state->onlyif);
    show_guards(arena, map, "unless", &state->unless);
    show_guards(arena, map, "check_cmd", &state->check_cmd);
    for (size_t i = 0; i < state->creates.n; i++)
        value_list_push(arena, creates, value_text(state->creates.p[i]));
    if (creates->count > 0)
        value_map_set(arena, map, value_text("creates"), value_list(creates));
    if (state->guard_user)
        value_map_set(arena, map, value_text("runas"), value_text(state->guard_user));
    if (state->retry.attempts > 0)
        value_map_set(arena, map, value_text("retry"), show_retry(arena, &state->retry));
    if (state->failhard)
        value_map_set(arena, map, value_text("failhard"), value_bool(true));
}

/* As they were written, without what is shown separately. */
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
    show_attributes(arena, map.map, state);
    return map;
}

int local_show(struct local *local)
{
    struct arena *arena = &local->session.arena;
    struct value list = value_list(value_list_new(arena, 0));
    AUTO_BUF struct buf out = BUF_INIT(LOCAL_OUTPUT_MAX);
    const struct plan *plan;
    struct err err;

    if (local_compile(local, &plan) < 0)
        return local_refuse(local);
    for (uint32_t i = 0; i < plan->count; i++)
        if (!plan->states[plan->order[i]].listener)
            value_list_push(arena, list.list,
                            show_state(arena, plan, &plan->states[plan->order[i]]));
    if ((local->args->format == FORMAT_JSON ? json_print(&out, &list, JSON_STYLE_PRETTY, &err)
                                            : yaml_print(&out, &list, &err)) < 0)
        return cli_err(local->cli, &err);
    secrets_mask(local->session.host.secrets, &out);
    printf("%s%s", buf_text(&out), local->args->format == FORMAT_JSON ? "\n" : "");
    return CLI_OK;
}

int local_graph(struct local *local)
{
    AUTO_BUF struct buf out = BUF_INIT(LOCAL_OUTPUT_MAX);
    struct drawing drawing = DRAWING_INIT(local->cli->arena);
    const struct plan *plan;

    if (local_compile(local, &plan) < 0)
        return local_refuse(local);
    if (local->args->format == FORMAT_JSON || local->args->format == FORMAT_YAML)
        return local_show(local);
    if (local->args->format == FORMAT_TEXT)
        graph_print_text(plan, &out);
    else
        graph_draw(plan, &drawing);
    if (local->args->format == FORMAT_DOT)
        drawing_print_dot(&drawing, &out);
    if (local->args->format == FORMAT_SVG)
        drawing_print_svg(&drawing, &out);
    secrets_mask(local->session.host.secrets, &out);
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
    return CLI_OK;
}

int local_check(struct local *local)
{
    const struct plan *plan;

    if (local_compile(local, &plan) < 0)
        return local_refuse(local);
    if (local_wants_record(local))
        return local_show(local);
    if (plan_has_mistakes(plan))
        return CLI_ERROR;
    const uint32_t count = plan->count - plan->listeners;
    printf("%u state%s in %u level%s, no mistakes found\n", count, count == 1 ? "" : "s",
           plan->level_count, plan->level_count == 1 ? "" : "s");
    return CLI_OK;
}

int local_show_highstate(struct local *local)
{
    if (local->wish.refs.n > 0)
        return cli_usage(local->cli, "%s takes no arguments: it uses the top file",
                         local->function);
    return local_show(local);
}

/* What the top file assigns to this machine. */
int local_show_top(struct local *local)
{
    AUTO_BUF struct buf out = BUF_INIT(LOCAL_OUTPUT_MAX);
    struct value refs;
    struct err err;

    if (local->wish.refs.n > 0)
        return cli_usage(local->cli, "state.show_top takes no arguments");
    if (compile_top_refs(&local->session.arena, &local->session.host, &refs, &local->diags) < 0)
        return local_refuse(local);
    if (local->args->format == FORMAT_JSON)
        return local_print(local, &refs);
    if (yaml_print(&out, &refs, &err) < 0)
        return cli_err(local->cli, &err);
    (void)fputs(buf_text(&out), stdout);
    return CLI_OK;
}
