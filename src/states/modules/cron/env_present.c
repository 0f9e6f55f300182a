/* cron.env_present - a variable in the crontab of a user. */
#include "states/modules/cron/crons.h"
#include "states/state/module.h"

#define ARGS struct crons_variable

/* clang-format off */
static const struct param env_params[] = {
    PARAM("name", STR, ARGS, name, "the variable", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("value", STR, ARGS, value, "its value", .flags = PARAM_REQUIRED),
    PARAM("user", STR, ARGS, user, "the user who owns the crontab", .default_text = "root"),
    { 0 },
};
/* clang-format on */

const struct module module_cron_env_present = {
    .name = "cron.env_present",
    .summary = "a variable in the crontab of a user",
    .details =
        "A new variable is added above all entries, since it applies to the entries below it.",
    .example = "name: MAILTO\nvalue: root@example.org\nuser: root\n",
    .params = env_params,
    .args_size = sizeof(ARGS),
    .lock = CRONS_LOCK,
    .validate = crons_validate_variable,
    .check = crons_check_variable,
    .apply = crons_apply_variable,
    .revert = crons_revert_variable,
};
