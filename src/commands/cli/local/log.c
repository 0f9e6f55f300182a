/* Lines of log.* go to standard error, from a level on. */
#include "commands/cli/local/local.h"

#include <string.h>

#include "core/base/diag.h"
#include "core/base/log.h"

/* Messages of log.*, in which secrets are already masked. */
static void write_log(enum log_level level, struct str text)
{
    static void (*const write[LOG_LEVELS])(const char *fmt, ...) = {
        [LOG_LEVEL_ERROR] = log_error,
        [LOG_LEVEL_WARNING] = log_warning,
        [LOG_LEVEL_INFO] = log_info,
        [LOG_LEVEL_DEBUG] = log_debug,
    };

    write[level]("%.*s", STR_ARG(text));
}

/* The levels of Salt, and ours. */
int local_open_log(const char *name, struct session_options *options, struct diags *diags)
{
    static const struct {
        const char *name;
        enum log_level level;
    } levels[] = {
        { "all", LOG_LEVEL_DEBUG },       { "garbage", LOG_LEVEL_DEBUG },
        { "trace", LOG_LEVEL_DEBUG },     { "debug", LOG_LEVEL_DEBUG },
        { "profile", LOG_LEVEL_DEBUG },   { "info", LOG_LEVEL_INFO },
        { "warning", LOG_LEVEL_WARNING }, { "warn", LOG_LEVEL_WARNING },
        { "error", LOG_LEVEL_ERROR },     { "critical", LOG_LEVEL_ERROR },
    };

    if (!name)
        name = "warning";
    options->log = strcmp(name, "quiet") == 0 ? NULL : write_log;
    if (!options->log)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(levels); i++)
        if (strcmp(name, levels[i].name) == 0) {
            log_set_level(levels[i].level);
            return 0;
        }
    return diag_add(diags, (struct place){ 0 },
                    "--log-level must be debug, info, warning, error or quiet, got '%s'", name);
}
