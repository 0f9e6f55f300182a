/* file.diskusage - the bytes of all files below a path. */
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/mem.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/tree.h"

#define ARGS struct diskusage_args

struct diskusage_args {
    const char *path;
};

/* clang-format off */
static const struct param diskusage_params[] = {
    PARAM("path", PATH, ARGS, path, "a file or a folder", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};
/* clang-format on */

struct disk_usage {
    struct state_run *run;
    struct map seen; /* files with several names */
    int64_t bytes;
};

static bool is_counted(struct disk_usage *usage, const struct fs_info *info)
{
    void **place;

    if (info->links < 2)
        return false;
    place = map_place(&usage->seen, str_from(arena_printf(usage->run->arena, "%llx:%llx",
                                                          (unsigned long long)info->device,
                                                          (unsigned long long)info->inode)));
    if (*place)
        return true;
    *place = usage;
    return false;
}

/* A link counts as what it leads to, which is not entered. */
static int add_usage_entry(void *self, enum tree_step step, const struct tree_entry *entry,
                           struct err *err)
{
    struct disk_usage *usage = self;
    struct fs_info info = entry->info;

    if (step != TREE_ENTRY ||
        (info.kind == FS_LINK && (fs_stat(entry->path, &info, err) < 0 || info.kind == FS_FOLDER)))
        return 0;
    if (info.kind != FS_NONE && !is_counted(usage, &info))
        usage->bytes += (int64_t)info.size;
    return 0;
}

static int diskusage_call(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    struct disk_usage usage = { .run = run, .seen = MAP_INIT };
    AUTO_FREE char *path = realpath(((const struct diskusage_args *)args)->path, NULL);
    int result = 0;

    if (path)
        result = tree_walk(path, add_usage_entry, &usage, err);
    map_done(&usage.seen);
    if (result < 0)
        return -1;
    *ret = value_int(usage.bytes);
    return 0;
}

const struct module module_file_diskusage = {
    .name = "file.diskusage",
    .summary = "the bytes of all files below a path",
    .details = "Sizes of files, as in Salt: not the blocks that they take. A file with several "
               "names counts once.",
    .params = diskusage_params,
    .args_size = sizeof(ARGS),
    .call = diskusage_call,
};
