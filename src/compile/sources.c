#include "compile/sources.h"

#include <errno.h>

#include "base/arena.h"
#include "base/err.h"
#include "sys/fs.h"

/* Does the folder contain anything? A missing folder does not. */
static int check_folder(const char *folder, bool *ret_filled, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fs_names names = { .list = VEC_INIT };
    struct fs_info info;

    *ret_filled = false;
    if (fs_stat(folder, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER)
        return 0;
    if (fs_list(&arena, folder, &names, err) < 0)
        return err->errnum == ENOENT ? 0 : -1; /* swapped between the two checks */
    *ret_filled = names.list.n > 0;
    return 0;
}

static int cache_has_files(const struct sources *sources, bool *ret_filled, struct err *err)
{
    for (int i = 0; i < SOURCES_LOOKS; i++) {
        if (i > 0)
            sources->sleep(sources->user, SOURCES_WAIT_NS);
        if (check_folder(sources->cache, ret_filled, err) < 0)
            return -1;
        if (*ret_filled)
            return 0;
    }
    return 0;
}

int sources_pick(const struct sources *sources, const char **ret_folder, bool *ret_fell_back,
                 struct err *err)
{
    struct fs_info info = { .kind = FS_NONE };
    bool filled = false;

    if (sources->cache && cache_has_files(sources, &filled, err) < 0)
        return -1;
    if (filled) {
        *ret_folder = sources->cache;
        *ret_fell_back = false;
        return 0;
    }
    if (sources->baked && fs_stat(sources->baked, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER)
        return err_set(err, ERR_NOT_FOUND, "%s", SOURCES_UNAVAILABLE);
    *ret_folder = sources->baked;
    *ret_fell_back = sources->cache;
    return 0;
}
