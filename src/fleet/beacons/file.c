/* file - files that are made, changed or removed. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/beacons/kind.h"
#include "fleet/beacons/section.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define ARGS struct file_args
/* Folders in folders. */
#define DEPTH_MAX 64

struct file_args {
    struct beacon_common common;
    const struct value *given;
    struct param_strs files;
    bool recurse;
};

static const struct param file_params[] = {
    PARAM("files", ANY, ARGS, given, "files, and folders, whose entries are watched",
          .flags = PARAM_REQUIRED, .kind_text = "list"),
    PARAM("recurse", BOOL, ARGS, recurse, "include subfolders"),
    BEACON_COMMON(ARGS, common, "10s"),
    { 0 },
};

static void check_file_args(struct arena *arena, void *args, const struct value *given,
                            struct diags *diags)
{
    struct file_args *want = args;

    (void)given;
    if (section_names(arena, want->given, "files", &want->files, diags) < 0)
        return;
    for (size_t i = 0; i < want->files.n; i++)
        if (!path_is_absolute(want->files.p[i]))
            (void)value_diag(diags, want->given, "'%s': expected an absolute path",
                             want->files.p[i]);
}

/* Content, owner and mode, without reading the file: the change time cannot be set back. */
static const char *print_file_state(struct arena *arena, const struct fs_info *info)
{
    return arena_printf(arena, "%s %" PRIu64 " %" PRId64 " %ju %o %u %u", fs_kind_name(info->kind),
                        info->size, info->mtime, (uintmax_t)info->inode, (unsigned)info->mode,
                        (unsigned)info->uid, (unsigned)info->gid);
}

static int add_file_reading(struct beacon_look *look, const char *path, const struct fs_info *info,
                            struct beacon_readings *ret, struct err *err)
{
    const struct beacon_reading reading = { .key = path,
                                            .state = print_file_state(look->arena, info) };

    if (ret->list.n >= BEACON_READINGS_MAX)
        return err_set(err, ERR_LIMIT, "more than %d files below '%s'", BEACON_READINGS_MAX, path);
    VEC_PUSH_IN(look->arena, &ret->list, reading);
    return 0;
}

/* Folders themselves are not reported: their times change with what is in them. */
static int walk_watched_path(struct beacon_look *look, const char *path, unsigned depth,
                             struct beacon_readings *ret, struct err *err)
{
    struct fs_names names = { 0 };
    struct fs_info info;

    if (fs_lstat(path, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return 0;
    if (info.kind != FS_FOLDER)
        return add_file_reading(look, path, &info, ret, err);
    if (depth == 0)
        return 0;
    if (fs_list(look->arena, path, &names, err) < 0)
        return err->errnum == ENOENT ? 0 : -1;
    VEC_EACH (&names.list, name)
        if (walk_watched_path(look, path_join(look->arena, path, *name), depth - 1, ret, err) < 0)
            return -1;
    return 0;
}

static int observe_file(struct beacon_look *look, const void *args, struct beacon_readings *ret,
                        struct err *err)
{
    const struct file_args *want = args;

    for (size_t i = 0; i < want->files.n; i++)
        if (walk_watched_path(look, want->files.p[i], want->recurse ? DEPTH_MAX : 1, ret, err) < 0)
            return -1;
    return 0;
}

static void say_file(struct arena *arena, const struct beacon_change *change,
                     struct value_map *data)
{
    const char *word = !change->previous                              ? "created"
                       : !change->state                               ? "deleted"
                       : strcmp(change->state, change->previous) == 0 ? "unchanged"
                                                                      : "modified";

    value_map_set(arena, data, value_text("path"), value_text(change->key));
    value_map_set(arena, data, value_text("change"), value_text(word));
}

/* For a file, and for a folder. */
static void watch_file(struct arena *arena, const void *args, struct beacon_paths *ret)
{
    const struct file_args *want = args;

    for (size_t i = 0; i < want->files.n; i++) {
        VEC_PUSH_IN(arena, &ret->list, want->files.p[i]);
        VEC_PUSH_IN(arena, &ret->list,
                    arena_printf(arena, "%s/%s", want->files.p[i], want->recurse ? "**" : "*"));
    }
}

const struct beacon_kind beacon_kind_file = {
    .name = "file",
    .summary = "Files, by inotify: `path`, `change` (created, modified, deleted)",
    .params = file_params,
    .args_size = sizeof(struct file_args),
    .tells_absence = true,
    .check = check_file_args,
    .observe = observe_file,
    .say = say_file,
    .watch = watch_file,
};
