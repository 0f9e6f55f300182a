#include "fleet/ssh/store.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/digest.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "fleet/ssh/channel.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/draft.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"

#define BLOBS       "blobs"
#define RUN_PREFIX  "run-"
#define RUN_LOCK    ".lock"
#define RUN_STATES  "states"
#define PROGRAM     "zester-"
#define FOLDER_MODE 0700
#define FILE_MODE   0600
/* Unused for this long. */
#define OLD_NS (INT64_C(7) * 86400 * CLOCK_SECOND)
/* A run that has just begun may not have its lock yet. */
#define NEW_NS (60 * CLOCK_SECOND)

static const char *blob_path(const struct ssh_store *store, struct arena *arena, const char *sha256)
{
    return arena_printf(arena, "%s/" BLOBS "/%s", store->folder, sha256);
}

/* --- what is left ----------------------------------------------------------------------- */

/* An unlocked tree of a run: its process is gone. */
static void sweep_run(const struct ssh_store *store, struct arena *arena, const char *name)
{
    const char *path = path_join(arena, store->folder, name);
    struct lock lock = LOCK_NONE;
    struct fs_info info;
    struct err ignored;

    if (fs_lstat(path, &info, &ignored) < 0 || info.kind != FS_FOLDER ||
        info.mtime > clock_wall() - NEW_NS ||
        lock_take(&lock, path_join(arena, path, RUN_LOCK), LOCK_EXCLUSIVE, LOCK_TRY, NULL,
                  &ignored) < 0)
        return;
    (void)tree_remove(path, &ignored); /* the next run tries again */
    lock_drop(&lock);
}

static void sweep_old(struct arena *arena, const char *folder, const char *prefix, int64_t now)
{
    struct fs_names names = { 0 };
    struct err ignored;

    if (fs_list(arena, folder, &names, &ignored) < 0)
        return;
    VEC_EACH (&names.list, name) {
        const char *path = path_join(arena, folder, *name);
        struct fs_info info;

        if (str_starts(str_from(*name), str_from(prefix)) && fs_lstat(path, &info, &ignored) == 0 &&
            info.kind == FS_FILE && info.mtime < now - OLD_NS)
            (void)fs_unlink(path, &ignored);
    }
}

static void sweep_store(const struct ssh_store *store)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fs_names names = { 0 };
    struct err ignored;

    if (fs_list(&arena, store->folder, &names, &ignored) < 0)
        return;
    VEC_EACH (&names.list, name)
        if (str_starts(str_from(*name), STR(RUN_PREFIX)))
            sweep_run(store, &arena, *name);
    sweep_old(&arena, path_join(&arena, store->folder, BLOBS), "", clock_wall());
    sweep_old(&arena, store->folder, PROGRAM, clock_wall());
}

/* --- opening ---------------------------------------------------------------------------- */

int ssh_store_open(struct arena *arena, struct ssh_store *ret, struct err *err)
{
    AUTO_FREE char *folder = getcwd(NULL, 0);
    struct ssh_store store = { .arena = arena, .lock = LOCK_NONE };
    struct fs_info info;

    if (!folder)
        return err_sys(err, errno, "the current folder");
    if (fs_stat(".", &info, err) < 0)
        return -1;
    if (info.uid != geteuid() || (info.mode & 077) != 0)
        return err_set(err, ERR_UNSAFE, "'%s' must belong to this user, with mode 0700", folder);
    store.folder = arena_strdup(arena, folder);
    sweep_store(&store);
    if (fs_mkdirs(path_join(arena, folder, BLOBS), FOLDER_MODE, err) < 0)
        return -1;
    *ret = store;
    return 0;
}

/* --- files ------------------------------------------------------------------------------ */

bool ssh_store_has(struct ssh_store *store, const struct ssh_file *file)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = blob_path(store, &arena, file->sha256);
    AUTO_FD int fd = -1;
    char sum[DIGEST_HEX_MAX];
    struct fs_info info;
    struct err ignored;

    if (fs_open(path, &fd, &info, &ignored) < 0 || fd < 0 || info.kind != FS_FILE ||
        (int64_t)info.size != file->size ||
        fs_hash_fd(fd, path, digest_find(STR("sha256")), sum, &ignored) < 0 ||
        strcmp(sum, file->sha256) != 0)
        return false;
    return fs_utimens(path, clock_wall(), clock_wall(), &ignored) == 0;
}

static int receive_pieces(const struct ssh_file *file, struct ssh_channel *channel,
                          struct draft *draft, struct err *err)
{
    char sum[SHA256_HEX_SIZE];
    struct sha256 sha;

    sha256_init(&sha);
    for (int64_t left = file->size; left > 0;) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct str piece;

        if (ssh_channel_take(channel, SSH_PIECE, SSH_PIECE_MAX, &arena, &piece, err) < 0)
            return -1;
        if (piece.n == 0 || (int64_t)piece.n > left)
            return err_set(err, ERR_INVALID, "'%s' does not have its size", file->path);
        sha256_add(&sha, piece.p, piece.n);
        if (draft_add(draft, piece, err) < 0)
            return -1;
        left -= (int64_t)piece.n;
    }
    sha256_end_hex(&sha, sum);
    if (strcmp(sum, file->sha256) != 0)
        return err_set(err, ERR_INVALID, "'%s' has changed while it was sent; try again",
                       file->path);
    return 0;
}

int ssh_store_receive(struct ssh_store *store, const struct ssh_file *file,
                      struct ssh_channel *channel, struct err *err)
{
    const struct fs_replace_options options = { .attr = { FILE_MODE, FS_KEEP, FS_KEEP },
                                                .sync = FS_NO_SYNC,
                                                .record = true };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct draft draft;
    int rc;

    if (draft_open(&draft, blob_path(store, &arena, file->sha256), &options, err) < 0)
        return -1;
    rc = receive_pieces(file, channel, &draft, err);
    if (rc == 0)
        rc = draft_commit(&draft, err);
    draft_done(&draft);
    return rc;
}

/* --- a tree ----------------------------------------------------------------------------- */

static int make_run(struct ssh_store *store, struct err *err)
{
    store->run = arena_printf(store->arena, "%s/" RUN_PREFIX "%016llx", store->folder,
                              (unsigned long long)chance_number());
    if (fs_mkdirs(path_join(store->arena, store->run, RUN_STATES), FOLDER_MODE, err) < 0)
        return -1;
    return lock_take(&store->lock, path_join(store->arena, store->run, RUN_LOCK), LOCK_EXCLUSIVE,
                     LOCK_TRY, NULL, err);
}

static int lay_file(const struct ssh_store *store, const char *states, const struct ssh_file *file,
                    struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *path = path_join(&arena, states, file->path);

    if (fs_mkdirs(path_dirname(&arena, path), FOLDER_MODE, err) < 0)
        return -1;
    if (link(blob_path(store, &arena, file->sha256), path) < 0)
        return err_sys(err, errno, "link '%s'", path);
    return 0;
}

int ssh_store_lay(struct ssh_store *store, const struct ssh_request *request,
                  const char **ret_folder, struct err *err)
{
    const char *states;

    if (make_run(store, err) < 0)
        return -1;
    states = path_join(store->arena, store->run, RUN_STATES);
    VEC_EACH (&request->files.list, file)
        if (lay_file(store, states, file, err) < 0)
            return -1;
    *ret_folder = states;
    return 0;
}

void ssh_store_close(struct ssh_store *store)
{
    struct err ignored;

    if (store->run)
        (void)tree_remove(store->run, &ignored); /* the next run tries again */
    lock_drop(&store->lock);
    store->run = NULL;
}
