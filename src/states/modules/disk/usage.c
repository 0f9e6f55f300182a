/* disk.usage - how full the file systems are, as df -P shows it. */
#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/clock.h"
#include "core/sys/process.h"

/* A file system that does not respond must not block us forever. */
#define USAGE_TIMEOUT (30 * CLOCK_SECOND)
#define ARGS          struct usage_args

struct usage_args {
    const char *path;
};

/* clang-format off */
static const struct param usage_params[] = {
    PARAM("path", PATH, ARGS, path, "only the file system of this path", .flags = PARAM_PRIMARY, .aliases = "name"),
    { 0 },
};
/* clang-format on */

static const char *const all_argv[] = { "df", "-P", NULL };

static int usage_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct usage_args *want = args;
    const char *const argv[] = { "df", "-P", "--", want->path, NULL };
    const struct process_spec spec = { .argv = want->path ? argv : all_argv };
    struct process_result result;

    if (state_command(run, &spec, USAGE_TIMEOUT, &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return err_set(err, ERR_INVALID, "df: %.*s", STR_ARG(str_trim(result.err)));
    *ret = value_str(arena_str(run->arena, str_trim_right(result.out)));
    return 0;
}

const struct module module_disk_usage = {
    .name = "disk.usage",
    .summary = "how full the file systems are, as df -P shows it",
    .params = usage_params,
    .args_size = sizeof(struct usage_args),
    .call = usage_call,
};
