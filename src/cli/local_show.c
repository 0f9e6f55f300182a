/* Functions of `zester --local` that show states and run none. */
#include "cli/local.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/drawing.h"
#include "cli/graph_print.h"
#include "compile/plan.h"
#include "data/json.h"
#include "data/yaml_print.h"
#include "state/secrets.h"

static struct value show_state(struct arena *arena, const struct plan *plan,
                               const struct plan_state *state)
{
    struct value map = value_map(value_map_new(arena, 8));

    value_map_set(arena, map.map, value_text("name"), value_text(state->name));
    value_map_set(arena, map.map, value_text("file"), value_text(state->ref ? state->ref : ""));
    value_map_set(arena, map.map, value_text("level"), value_int(state->level));
    value_map_set(arena, map.map, value_text("order"), value_int(state->order));
    value_map_set(arena, map.map, value_text("arguments"), state->body);
    for (unsigned kind = 0; kind < REQUISITES; kind++) {
        struct value_list *names = value_list_new(arena, state->requisites[kind].n);

        for (size_t i = 0; i < state->requisites[kind].n; i++)
            value_list_push(arena, names,
                            value_text(plan->states[state->requisites[kind].p[i]].name));
        if (names->count > 0)
            value_map_set(arena, map.map, value_text(requisite_name((enum requisite)kind)),
                          value_list(names));
    }
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
        value_list_push(arena, list.list, show_state(arena, plan, &plan->states[plan->order[i]]));
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
    printf("%u states in %u levels, no mistakes found\n", plan->count, plan->level_count);
    return CLI_OK;
}

int local_show_highstate(struct local *local)
{
    if (local->wish.refs.n > 0)
        return cli_usage(local->cli, "%s takes no reference: the top file decides",
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
        return cli_usage(local->cli, "state.show_top takes no reference");
    if (compile_top_refs(&local->session.arena, &local->session.host, &refs, &local->diags) < 0)
        return local_refuse(local);
    if (local->args->format == FORMAT_JSON)
        return local_print(local, &refs);
    if (yaml_print(&out, &refs, &err) < 0)
        return cli_err(local->cli, &err);
    (void)fputs(buf_text(&out), stdout);
    return CLI_OK;
}
