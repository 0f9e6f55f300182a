/* cron.env_absent - removes a variable from the crontab of a user. */
#include "states/modules/cron/crons.h"
#include "states/state/module.h"

#define ARGS struct crons_variable

/* clang-format off */
static const struct param env_params[] = {
    PARAM("name", STR, ARGS, name, "the variable", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("user", STR, ARGS, user, "the user who owns the crontab", .default_text = "root"),
    { 0 },
};
/* clang-format on */

const struct module module_cron_env_absent = {
    .name = "cron.env_absent",
    .summary = "remove a variable from the crontab of a user",
    .example = "name: MAILTO\nuser: root\n",
    .params = env_params,
    .args_size = sizeof(ARGS),
    .lock = CRONS_LOCK,
    .validate = crons_validate_variable,
    .check = crons_check_variable,
    .apply = crons_apply_variable,
    .revert = crons_revert_variable,
};
