/* file.stats - kind, mode, owner, size and times of a path. */
#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/account.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"

#define ARGS struct stats_args

struct stats_args {
    const char *path;
    bool follow_symlinks;
};

/* clang-format off */
static const struct param stats_params[] = {
    PARAM("path", STR, ARGS, path, "the path", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    PARAM("follow_symlinks", BOOL, ARGS, follow_symlinks, "follow a link", .default_text = "true"),
    { 0 },
};
/* clang-format on */

static void put_stats_number(struct state_run *run, struct value_map *map, const char *key,
                             struct value v)
{
    value_map_set(run->arena, map, value_text(key), v);
}

/* Names of the owner and group, where they exist. */
static int put_names(struct state_run *run, struct value_map *map, const struct fs_info *info,
                     struct err *err)
{
    const struct account *account;
    const struct account_group *group;

    if (account_find_uid(run->arena, info->uid, &account, err) < 0 ||
        account_find_gid(run->arena, info->gid, &group, err) < 0)
        return -1;
    put_stats_number(run, map, "user", value_text(account ? account->name : ""));
    put_stats_number(run, map, "group", value_text(group ? group->name : ""));
    return 0;
}

static int stats_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct stats_args *want = args;
    struct value_map *map = value_map_new(run->arena, 12);
    struct fs_info info;

    if ((want->follow_symlinks ? fs_stat : fs_lstat)(want->path, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return err_set(err, ERR_NOT_FOUND, "%s does not exist", want->path);
    put_stats_number(run, map, "target", value_text(want->path));
    put_stats_number(run, map, "type", value_text(fs_kind_name(info.kind)));
    put_stats_number(run, map, "mode",
                     value_text(arena_printf(run->arena, "%04o", (unsigned)info.mode)));
    put_stats_number(run, map, "uid", value_int(info.uid));
    put_stats_number(run, map, "gid", value_int(info.gid));
    if (put_names(run, map, &info, err) < 0)
        return -1;
    put_stats_number(run, map, "size", value_int((int64_t)info.size));
    put_stats_number(run, map, "inode", value_int((int64_t)info.inode));
    put_stats_number(run, map, "atime", value_double((double)info.atime / (double)CLOCK_SECOND));
    put_stats_number(run, map, "ctime", value_double((double)info.ctime / (double)CLOCK_SECOND));
    put_stats_number(run, map, "mtime", value_double((double)info.mtime / (double)CLOCK_SECOND));
    *ret = value_map(map);
    return 0;
}

const struct module module_file_stats = {
    .name = "file.stats",
    .summary = "kind, mode, owner, size and times of a path",
    .params = stats_params,
    .args_size = sizeof(struct stats_args),
    .call = stats_call,
};
