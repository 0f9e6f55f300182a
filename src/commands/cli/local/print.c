/* local_print - what `zester --local` prints: records, reports and refusals. */
#include "commands/cli/local/local.h"

#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "commands/cli/shared/columns.h"
#include "commands/cli/shared/command.h"
#include "core/data/json.h"
#include "core/data/yaml_print.h"
#include "states/state/outcome.h"
#include "states/state/report.h"
#include "states/state/secrets.h"

int local_print(struct local *local, const struct value *v)
{
    AUTO_BUF struct buf out = BUF_INIT(LOCAL_OUTPUT_MAX);
    struct err err;
    int result;

    if (local->args->format == FORMAT_YAML)
        result = yaml_print(&out, v, &err);
    else
        result = json_print(&out, v, JSON_STYLE_PRETTY, &err);
    if (result < 0)
        return cli_err(local->cli, &err);
    if (out.n > 0 && out.p[out.n - 1] != '\n')
        buf_add_char(&out, '\n');
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
    return CLI_OK;
}

/* Records are lists of one machine, so that those of the fleet look the same. */
static int print_run_record(struct local *local, struct value record)
{
    struct value list = value_list(value_list_new(&local->session.arena, 1));

    secrets_mask_value(local->session.host.secrets, &local->session.arena, &record);
    value_list_push(&local->session.arena, list.list, record);
    return local_print(local, &list);
}

bool local_wants_record(const struct local *local)
{
    return local->args->format == FORMAT_JSON || local->args->format == FORMAT_YAML;
}

/* Nothing ran: report why, in the requested format. */
int local_refuse(struct local *local)
{
    AUTO_BUF struct buf text = BUF_INIT(LOCAL_OUTPUT_MAX);

    session_open_paths(&local->session, &local->diags);
    session_mask_diags(&local->session, &local->diags);
    if (!local_wants_record(local))
        return cli_diags(local->cli, &local->diags);
    diags_print(&local->diags, &text);
    (void)fputs(buf_text(&text), stderr);
    (void)print_run_record(
        local, report_error(&local->session.arena,
                            local->session.host.peel_id ? local->session.host.peel_id : "local",
                            str_trim_right(buf_view(&text)).n > 0 ? buf_text(&text) : "failed"));
    return CLI_ERROR;
}

int local_refuse_err(struct local *local, const struct err *err)
{
    (void)diag_err(&local->diags, (struct place){ 0 }, err);
    return local_refuse(local);
}

/* If the report is lost, the message on stderr reports what was done. */
void local_set_done(struct local *local, const struct run_result *result)
{
    local->cli->changed = result->changed > 0;
    local->cli->done =
        arena_printf(local->cli->arena, "the %s finished (%u changed, %u failed, %u skipped)",
                     result->revert ? "revert"
                     : result->test ? "dry run"
                                    : "run",
                     result->changed, result->failed, result->skipped);
}

int local_print_result(struct local *local, const struct run_result *result)
{
    AUTO_BUF struct buf out = BUF_INIT(LOCAL_OUTPUT_MAX);
    int status = run_result_is_success(result) ? CLI_OK : CLI_FAILED;

    local_set_done(local, result);
    if (local_wants_record(local)) {
        int printed = print_run_record(
            local, report_run(&local->session.arena, local->session.host.peel_id, result));

        return printed == CLI_OK ? status : printed;
    }
    report_text(result, local->detail, local->cli->color && !local->args->no_color, &out);
    secrets_mask(local->session.host.secrets, &out);
    columns_write(buf_view(&out));
    return status;
}

int local_print_answer(struct local *local, const struct value *answer)
{
    struct run_result result = { 0 };
    struct state_result one = { .name = local->function, .outcome = OUTCOME_UNCHANGED };
    struct arena *arena = &local->session.arena;
    AUTO_BUF struct buf out = BUF_INIT(LOCAL_OUTPUT_MAX);
    struct value shown = value_copy(arena, answer);
    struct err err;

    secrets_mask_answer(local->session.host.secrets, arena, &shown);
    if (local_wants_record(local)) {
        one.details = value_map_new(arena, 1);
        value_map_set(arena, one.details, value_text("result"), shown);
        VEC_PUSH_IN(arena, &result.states, one);
        return print_run_record(local, report_run(arena, local->session.host.peel_id, &result));
    }
    if (shown.kind == VALUE_STR)
        buf_add_str(&out, shown.s);
    else if (yaml_print(&out, &shown, &err) < 0)
        return cli_err(local->cli, &err);
    if (out.n > 0 && out.p[out.n - 1] != '\n')
        buf_add_char(&out, '\n');
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
    return CLI_OK;
}
