/* Functions of `zester --local` that only show states. */
#include "commands/cli/local/local.h"

#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/shared/command.h"
#include "commands/cli/shared/drawing.h"
#include "commands/cli/shared/graph_print.h"
#include "states/compile/plan.h"
#include "core/data/json.h"
#include "core/data/yaml_print.h"
#include "states/local/show.h"
#include "states/local/wish.h"
#include "states/state/secrets.h"

int local_show(struct local *local)
{
    struct arena *arena = &local->session.arena;
    struct value list;
    AUTO_BUF struct buf out = BUF_INIT(LOCAL_OUTPUT_MAX);
    const struct plan *plan;
    struct err err;

    if (local_compile(local, &plan) < 0)
        return local_refuse(local);
    list = show_plan(arena, plan);
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
        show_levels(plan, &out);
    else
        graph_print(plan, &drawing);
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
    AUTO_BUF struct buf out = BUF_INIT(LOCAL_OUTPUT_MAX);
    const struct plan *plan;

    if (local_compile(local, &plan) < 0)
        return local_refuse(local);
    if (local_wants_record(local))
        return local_show(local);
    if (plan_has_mistakes(plan))
        return CLI_ERROR;
    show_counts(plan, &out);
    printf("%s\n", buf_text(&out));
    return CLI_OK;
}

/* Mistakes mean no; 'state.check' lists them. */
int local_sls_exists(struct local *local)
{
    const struct plan *plan;
    struct value answer;

    if (local->wish.refs.n == 0)
        return cli_usage(local->cli, "state.sls_exists requires references");
    answer = value_bool(compile_wish(&local->session.arena, &local->session.host, &local->wish,
                                     &plan, &local->diags) == 0);
    return local_print_answer(local, &answer);
}

int local_id_exists(struct local *local)
{
    const struct value key = value_text("ids");
    const char *ids = value_get_text(&local->given, key.s.p);
    const struct plan *plan;
    struct value answer;

    if (ids)
        (void)value_map_remove(local->given.map, &key);
    else
        ids = local_shift(local);
    if (local_read_wish(local) < 0)
        return local_refuse(local);
    if (!ids || local->wish.refs.n == 0)
        return cli_usage(local->cli, "state.id_exists requires IDs and references");
    if (local_compile(local, &plan) < 0)
        return local_refuse(local);
    answer = value_bool(wish_has_ids(plan, wish_read_ids(&local->session.arena, ids)));
    return local_print_answer(local, &answer);
}

int local_show_highstate(struct local *local)
{
    if (local->wish.refs.n > 0)
        return cli_usage(local->cli, "%s takes no arguments: it uses the top file",
                         local->function);
    return local_show(local);
}

/* Shows what the top file assigns to this machine. */
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
