#include "fleet/peel/source.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/sys/fs.h"

static bool is_source_folder(const char *path)
{
    struct fs_info info;
    struct err ignored;

    return fs_stat(path, &info, &ignored) == 0 && info.kind == FS_FOLDER;
}

static bool has_top_file(const char *path)
{
    char top[PATH_MAX];
    const int n = snprintf(top, sizeof(top), "%s/top.zy", path);

    return n > 0 && (size_t)n < sizeof(top) && access(top, F_OK) == 0;
}

/* A folder with something in it: mostly a top file, and then it need not be listed. */
static bool has_source_files(const char *path)
{
    const struct dirent *entry;
    bool found = false;
    DIR *dir;

    if (has_top_file(path))
        return true;
    dir = opendir(path);
    if (!dir)
        return false;
    while (!found && (entry = readdir(dir)))
        found = entry->d_name[0] != '.';
    (void)closedir(dir);
    return found;
}

static bool wait_for_source_files(const char *path)
{
    const struct timespec pause = { 0, SOURCE_PAUSE_NS };

    for (int i = 0; i < SOURCE_TRIES; i++) {
        if (has_source_files(path))
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return has_source_files(path);
}

const char *source_find(const struct source_folders *folders, bool *ret_fell_back, struct err *err)
{
    *ret_fell_back = false;
    if (wait_for_source_files(folders->cache))
        return folders->cache;
    if (is_source_folder(folders->baked)) {
        *ret_fell_back = true;
        return folders->baked;
    }
    (void)err_set(err, ERR_NOT_FOUND, "%s", SOURCE_UNAVAILABLE);
    return NULL;
}

bool source_is_there(const struct source_folders *folders)
{
    return has_source_files(folders->cache) || is_source_folder(folders->baked);
}
