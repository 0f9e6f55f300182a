#include "fleet/gitfs/sync.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "fleet/gitfs/clone.h"
#include "core/sys/cancel.h"
#include "core/sys/fs.h"
#include "core/sys/lock.h"
#include "core/sys/path.h"
#include "core/sys/pool.h"
#include "core/sys/tree.h"

#define STORE_MODE 0700
#define LOCK_WAIT  (INT64_C(10) * 1000000000)
/* Folders in the making, or being removed. */
static const char *const passing[] = { ".new", ".old" };

bool sync_has_store(const char *folder)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    return access(clone_store(&arena, folder), F_OK) == 0;
}

/* --- what is left of others ----------------------------------------------------------- */

static bool is_temporary_folder(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(passing); i++)
        if (str_ends(str_from(name), str_from(passing[i])))
            return true;
    return false;
}

static bool is_remote_listed(const struct sync_job *job, const char *name)
{
    VEC_EACH (&job->remotes->list, remote)
        if (strcmp(remote->name, name) == 0)
            return true;
    return false;
}

/* First out of the tree, in one step. Edits are kept, as when a commit replaces them. */
static int remove_unlisted_folder(struct sync_job *job, const char *name, struct err *err)
{
    const struct remote remote = { .name = name, .url = "" };
    const struct clone clone = {
        .arena = job->arena, .cancel = job->cancel, .folder = job->folder, .remote = &remote
    };
    const char *place = path_join(job->arena, job->folder, name);
    const char *gone = clone_path(&clone, ".old");
    struct checkout_report report;
    struct err ignored;

    if (access(place, F_OK) < 0)
        return 0;
    if (!checkout_is_ours(job->arena, job->folder, name)) {
        VEC_PUSH_IN(job->arena, &job->left, name);
        return 0;
    }
    (void)checkout_restore(&clone, &report, &ignored);
    if (tree_remove(gone, err) < 0 || fs_rename(place, gone, err) < 0)
        return -1;
    return tree_remove(gone, err);
}

static int remove_unlisted(struct sync_job *job, const char *file, struct err *err)
{
    const struct str repository = str_from(file);
    const char *name = arena_strndup(job->arena, file, repository.n - strlen(CLONE_SUFFIX));

    if (is_remote_listed(job, name) || !remote_is_name(name))
        return 0;
    if (remove_unlisted_folder(job, name, err) < 0 ||
        tree_remove(path_join(job->arena, clone_store(job->arena, job->folder), file), err) < 0)
        return -1;
    VEC_PUSH_IN(job->arena, &job->removed, name);
    return 0;
}

static int clean_sync_store(struct sync_job *job, struct err *err)
{
    const char *store = clone_store(job->arena, job->folder);
    struct fs_names names = { 0 };

    if (fs_list(job->arena, store, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name) {
        if (is_temporary_folder(*name) && tree_remove(path_join(job->arena, store, *name), err) < 0)
            return -1;
        if (!is_temporary_folder(*name) && str_ends(str_from(*name), STR(CLONE_SUFFIX)) &&
            remove_unlisted(job, *name, err) < 0)
            return -1;
    }
    return 0;
}

/* --- the remotes ---------------------------------------------------------------------- */

/* One remote in a worker, with its own copies. */
struct turn {
    const struct sync_job *job;
    struct arena arena;
    struct sync_result result;
    bool is_done; /* else it was canceled before it began */
};

static void sync_remote(void *arg)
{
    struct turn *turn = arg;
    const struct sync_job *job = turn->job;
    struct sync_result *result = &turn->result;
    const struct clone clone = { .arena = &turn->arena,
                                 .cancel = job->cancel,
                                 .folder = job->folder,
                                 .remote = result->remote,
                                 .timeout = job->timeout };
    struct err err;
    int failed;

    if (cancel_is_raised(job->cancel))
        return;
    failed = job->pulls ? checkout_pull(&clone, &result->report, &err)
                        : checkout_restore(&clone, &result->report, &err);
    if (failed)
        result->error = arena_strdup(&turn->arena, err.text);
    if (failed && job->pulls) /* it may have been edited all the same */
        failed = checkout_restore(&clone, &result->report, &err);
    result->is_valid = !failed || !result->report.is_ours;
    turn->is_done = true;
}

static const char *copy_sync_text(struct arena *arena, const char *text)
{
    return text ? arena_strdup(arena, text) : NULL;
}

static void keep_sync_result(struct sync_job *job, const struct turn *turn)
{
    struct sync_result result = turn->result;

    result.error = copy_sync_text(job->arena, result.error);
    result.report.commit = copy_sync_text(job->arena, result.report.commit);
    result.report.before = copy_sync_text(job->arena, result.report.before);
    result.report.edit = copy_sync_text(job->arena, result.report.edit);
    VEC_PUSH_IN(job->arena, &job->results, result);
}

/* One that hangs keeps no other from being pulled, unless SYNC_AT_ONCE of them do. */
static int sync_remotes(struct sync_job *job, struct err *err)
{
    const size_t count = job->remotes->list.n;
    struct turn *turns = mem_zalloc((count + 1) * sizeof(*turns));
    struct pool *pool = pool_new(
        &(struct pool_options){ .limit = SYNC_AT_ONCE, .active = SYNC_AT_ONCE, .lazy = true }, err);

    for (size_t i = 0; pool && i < count; i++) {
        turns[i] = (struct turn){ .job = job, .result = { .remote = &job->remotes->list.p[i] } };
        pool_submit(pool, sync_remote, &turns[i]);
    }
    if (pool)
        pool_drain(pool);
    pool_free(pool);
    for (size_t i = 0; i < count; i++) {
        if (turns[i].is_done)
            keep_sync_result(job, &turns[i]);
        arena_done(&turns[i].arena);
    }
    free(turns);
    return pool ? 0 : -1;
}

int sync_run(struct sync_job *job, struct err *err)
{
    const char *store = clone_store(job->arena, job->folder);
    struct lock lock = LOCK_NONE;
    int failed;

    if (fs_mkdirs(store, STORE_MODE, err) < 0 ||
        lock_take(&lock, path_join(job->arena, store, "lock"), LOCK_EXCLUSIVE, LOCK_WAIT,
                  job->cancel, err) < 0)
        return -1;
    failed = clean_sync_store(job, err);
    if (!failed && job->remotes->list.n > 0)
        failed = sync_remotes(job, err);
    /* nothing is left to do here */
    if (!failed && job->remotes->list.n == 0)
        failed = tree_remove(store, err);
    lock_drop(&lock);
    return failed;
}
