#include "states/run/fetched.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/run/source.h"
#include "states/state/source_hash.h"
#include "states/state/host.h"
#include "core/sys/draft.h"
#include "core/sys/fd.h"
#include "core/sys/fetch.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

struct kept {
    const char *path;
    struct fs_info info;
};

static const char *find_fetched_folder(struct arena *arena, const struct state_host *host)
{
    return path_join(arena, host->data_dir, "fetched");
}

static const char *find_fetched_path(struct arena *arena, const struct state_host *host,
                                     struct str hash)
{
    return path_join(arena, find_fetched_folder(arena, host), arena_str(arena, hash).p);
}

const char *fetched_find(struct arena *arena, const struct state_host *host,
                         const struct source_hash *hash)
{
    const char *path = find_fetched_path(arena, host, hash->digits);
    const int64_t now = clock_wall();
    AUTO_FD int fd = -1;
    struct fs_info info;
    struct err ignored; /* it is fetched again */

    if (fs_open(path, &fd, &info, &ignored) < 0 || info.kind != FS_FILE ||
        source_hash_check_fd(hash, path, fd, &ignored) < 0)
        return NULL;
    if (!host->test)
        (void)fs_utimens(path, now, now, &ignored); /* it was used */
    return path;
}

static int compare_fetched_age(const void *a, const void *b)
{
    const int64_t left = ((const struct kept *)a)->info.mtime;
    const int64_t right = ((const struct kept *)b)->info.mtime;

    return left < right ? 1 : left > right ? -1 : 0;
}

/* A copy that cannot be removed does no harm. */
static void prune_fetched_files(struct arena *arena, const struct state_host *host)
{
    const char *folder = find_fetched_folder(arena, host);
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
        qsort(all.p, all.n, sizeof(*all.p), compare_fetched_age);
    VEC_EACH (&all, kept) {
        bytes += kept->info.size;
        if (kept->info.mtime < oldest || (bytes > FETCHED_BYTES_MAX && kept != all.p))
            (void)fs_unlink(kept->path, &ignored);
    }
}

static int fetch_draft(struct draft *draft, const struct state_host *host, const char *url,
                       const struct source_hash *hash, struct err *err)
{
    const struct fetch_options options = { .size_max = SOURCE_FETCH_MAX,
                                           .timeout = SOURCE_TIMEOUT,
                                           .cancel = host->cancel };

    if (fetch_file(draft->fd, url, &options, err) < 0 ||
        source_hash_check_fd(hash, url, draft->fd, err) < 0)
        return -1;
    return draft_commit(draft, err);
}

int fetched_make(struct arena *arena, const struct state_host *host, const char *url,
                 const struct source_hash *hash, const char **ret_path, struct err *err)
{
    const struct fs_replace_options private = { .attr = { 0600, FS_KEEP, FS_KEEP } };
    const char *path = find_fetched_path(arena, host, hash->digits);
    struct draft draft;
    int rc;

    if (fs_mkdirs(find_fetched_folder(arena, host), 0700, err) < 0 ||
        draft_open(&draft, path, &private, err) < 0)
        return -1;
    rc = fetch_draft(&draft, host, url, hash, err);
    draft_done(&draft);
    if (rc < 0)
        return -1;
    prune_fetched_files(arena, host);
    *ret_path = path;
    return 0;
}
