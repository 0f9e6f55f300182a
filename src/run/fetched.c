#include "run/fetched.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "run/source.h"
#include "state/host.h"
#include "sys/fs.h"
#include "sys/path.h"

struct kept {
    const char *path;
    struct fs_info info;
};

static const char *folder_of(struct arena *arena, const struct state_host *host)
{
    return path_join(arena, host->data_dir, "fetched");
}

static const char *path_of(struct arena *arena, const struct state_host *host, struct str hash)
{
    return path_join(arena, folder_of(arena, host), arena_str(arena, hash).p);
}

void fetched_find(struct arena *arena, const struct state_host *host, struct str hash,
                  struct str *ret_bytes)
{
    const char *path = path_of(arena, host, hash);
    const int64_t now = clock_wall();
    struct err ignored;

    *ret_bytes = (struct str){ NULL, 0 };
    if (fs_read(arena, path, SOURCE_SIZE_MAX, ret_bytes, &ignored) < 0)
        *ret_bytes = (struct str){ NULL, 0 };
    else if (ret_bytes->p && !host->test)
        (void)fs_utimens(path, now, now, &ignored); /* it was used */
}

static int newest_first(const void *a, const void *b)
{
    const int64_t left = ((const struct kept *)a)->info.mtime;
    const int64_t right = ((const struct kept *)b)->info.mtime;

    return left < right ? 1 : left > right ? -1 : 0;
}

/* A copy that cannot be removed does no harm. */
static void prune(struct arena *arena, const struct state_host *host)
{
    const char *folder = folder_of(arena, host);
    const int64_t oldest = clock_wall() - FETCHED_AGE;
    struct fs_names names = { 0 };
    VEC(struct kept) all = VEC_INIT;
    uint64_t bytes = 0;
    struct err ignored;

    if (fs_list(arena, folder, &names, &ignored) < 0)
        return;
    VEC_EACH (&names.list, name) {
        struct kept kept = { .path = path_join(arena, folder, *name) };

        if (fs_lstat(kept.path, &kept.info, &ignored) == 0 && kept.info.kind == FS_FILE)
            VEC_PUSH_IN(arena, &all, kept);
    }
    if (all.n > 0)
        qsort(all.p, all.n, sizeof(*all.p), newest_first);
    VEC_EACH (&all, kept) {
        bytes += kept->info.size;
        if (kept->info.mtime < oldest || bytes > FETCHED_BYTES_MAX)
            (void)fs_unlink(kept->path, &ignored);
    }
}

int fetched_keep(struct arena *arena, const struct state_host *host, struct str hash,
                 struct str bytes, struct err *err)
{
    const struct fs_replace_options private = { .attr = { 0600, FS_KEEP, FS_KEEP } };

    if (host->test)
        return 0;
    if (fs_mkdirs(folder_of(arena, host), 0700, err) < 0 ||
        fs_replace(path_of(arena, host, hash), bytes, &private, err) < 0)
        return -1;
    prune(arena, host);
    return 0;
}
