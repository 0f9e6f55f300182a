/* cron.env_absent - no such variable in the crontab of a user. */
#include "modules/crons.h"
#include "state/module.h"

#define ARGS struct crons_variable

/* clang-format off */
static const struct param env_params[] = {
    PARAM("name", STR, ARGS, name, "the variable", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("user", STR, ARGS, user, "whose crontab", .default_text = "root"),
    { 0 },
};
/* clang-format on */

static int env_validate(const void *args, const struct value *where, struct diags *diags)
{
    return crons_validate_variable(args, where, diags);
}

static int env_check(struct state_run *run, const void *args, struct err *err)
{
    return crons_check_variable(run, args, err);
}

static int env_apply(struct state_run *run, const void *args, struct err *err)
{
    return crons_apply_variable(run, args, err);
}

static int env_revert(struct state_run *run, const void *args, struct err *err)
{
    return crons_revert_variable(run, args, err);
}

const struct module module_cron_env_absent = {
    .name = "cron.env_absent",
    .summary = "no such variable in the crontab of a user",
    .example = "name: MAILTO\nuser: root\n",
    .params = env_params,
    .args_size = sizeof(ARGS),
    .lock = CRONS_LOCK,
    .validate = env_validate,
    .check = env_check,
    .apply = env_apply,
    .revert = env_revert,
};
