/* `--plan`: a run that must match a dry run. */
#include "commands/cli/local/local.h"

#include "core/base/err.h"
#include "core/data/yaml.h"
#include "states/run/plan_binding.h"
#include "states/run/run.h"
#include "states/state/outcome.h"
#include "core/sys/fs.h"

#define PLAN_MAX ((size_t)256 << 20)

static int read_plan(struct local *local, struct plan_binding *ret, struct err *err)
{
    const char *file = local->args->plan;
    struct arena *arena = &local->session.arena;
    const struct yaml_options options = { .size_max = PLAN_MAX, .scalar_max = PLAN_MAX };
    struct value record;
    struct str text;

    if (fs_read(arena, file, PLAN_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND,
                       "'%s' does not exist; write it with '--test --format json > %s'", file,
                       file);
    if (yaml_parse(arena, file, text, &options, &record, &local->diags) < 0)
        return err_set(err, ERR_INVALID, "'%s' is not the record of a dry run", file);
    if (plan_binding_read(arena, &record, local->session.host.peel_id, ret, err) < 0)
        return err_wrap(err, "'%s'", file);
    return 0;
}

int local_bind(struct local *local, const struct plan *plan, struct plan_binding *ret)
{
    struct run_result now;
    struct err err;

    if (read_plan(local, ret, &err) < 0)
        return diag_err(&local->diags, (struct place){ 0 }, &err);
    if (run_plan(&local->session.arena, &local->session.host, plan, RUN_TEST, NULL, &now, &err) < 0)
        return diag_err(&local->diags, (struct place){ 0 }, &err);
    if (plan_binding_compare(ret, &now, &local->diags) < 0)
        return -1;
    local->session.host.plan_binding = ret;
    return 0;
}
