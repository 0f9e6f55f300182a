/* file.not_cached - keeps no copy of a source on this machine. */
#include "core/base/err.h"
#include "states/modules/file/cache.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "states/undo/change.h"

#define ARGS struct not_cached_args

struct not_cached_args {
    const char *name;
};

/* clang-format off */
static const struct param not_cached_params[] = {
    PARAM("name", STR, ARGS, name, "the source, as file.cached has it", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};
/* clang-format on */

static int find_copy(struct state_run *run, const struct not_cached_args *want, bool *ret,
                     struct err *err)
{
    struct fs_info info;

    if (fs_lstat(cache_path(run, want->name), &info, err) < 0)
        return -1;
    *ret = info.kind != FS_NONE;
    return 0;
}

static int not_cached_check(struct state_run *run, const void *args, struct err *err)
{
    const struct not_cached_args *want = args;
    bool found;

    if (find_copy(run, want, &found, err) < 0)
        return -1;
    if (!found) {
        state_say(run, "%s is not cached", want->name);
        return 0;
    }
    state_differs(run, "%s is cached", want->name);
    state_made(run, "removed the copy of %s", want->name);
    return 0;
}

static int not_cached_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct not_cached_args *want = args;
    bool found;

    if (find_copy(run, want, &found, err) < 0)
        return -1;
    if (found)
        return change_remove(run, cache_path(run, want->name), err);
    state_unchanged(run);
    return 0;
}

const struct module module_file_not_cached = {
    .name = "file.not_cached",
    .summary = "keep no copy of a source on this machine",
    .example = "name: https://example.org/app.tar.gz\n",
    .params = not_cached_params,
    .args_size = sizeof(struct not_cached_args),
    .check = not_cached_check,
    .apply = not_cached_apply,
};
