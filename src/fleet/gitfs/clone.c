#include "fleet/gitfs/clone.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "fleet/gitfs/remote.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"
#include "core/sys/tree.h"

#define FOLDER_MODE 0755
#define SOURCE_MAX  1024
#define UNTOUCHED   "* -text -filter -ident -working-tree-encoding\n"

/* --- where it is --------------------------------------------------------------------- */

const char *clone_store(struct arena *arena, const char *folder)
{
    return path_join(arena, folder, CLONE_STORE);
}

const char *clone_path(const struct clone *clone, const char *suffix)
{
    return arena_printf(clone->arena, "%s/%s%s", clone_store(clone->arena, clone->folder),
                        clone->remote->name, suffix);
}

static struct git git_in(const struct clone *clone, const char *repository)
{
    return (struct git){
        .arena = clone->arena, .cancel = clone->cancel, .dir = repository, .remote = clone->remote
    };
}

struct git clone_git(const struct clone *clone)
{
    return git_in(clone, clone_path(clone, CLONE_SUFFIX));
}

static bool is_clone_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* --- what it follows ----------------------------------------------------------------- */

/* A sum, since a URL may have a password in it. */
static void sum_source(const struct clone *clone, char sum[static SHA256_HEX_SIZE])
{
    const char *branch = clone->remote->branch;
    const char *text =
        arena_printf(clone->arena, "%s\n%s", clone->remote->url, branch ? branch : "");

    sha256_hex(text, strlen(text), sum);
}

static const char *source_file(const struct clone *clone)
{
    return clone_path(clone, CLONE_SUFFIX "/zester-source");
}

int clone_is_moved(const struct clone *clone, bool *ret, struct err *err)
{
    char sum[SHA256_HEX_SIZE];
    struct str before;

    sum_source(clone, sum);
    if (fs_read(clone->arena, source_file(clone), SOURCE_MAX, &before, err) < 0)
        return -1;
    *ret = !before.p || !str_is(before, sum);
    return 0;
}

int clone_note_source(const struct clone *clone, struct err *err)
{
    char sum[SHA256_HEX_SIZE];

    sum_source(clone, sum);
    return fs_keep(source_file(clone), str_from(sum), NULL, err);
}

/* --- fetching ------------------------------------------------------------------------ */

/* Locks of a killed git; no other process works here. */
static int remove_lock(void *self, enum tree_step step, const struct tree_entry *entry,
                       struct err *err)
{
    (void)self;
    if (step == TREE_ENTRY && str_ends(str_from(entry->name), STR(".lock")) &&
        unlinkat(entry->folder, entry->name, 0) < 0)
        return err_sys(err, errno, "remove '%s'", entry->path);
    return 0;
}

/* With the commits between, if something was fetched before: they say whether the branch was
 * rewritten. */
static int fetch_branch(const struct clone *clone, const char *repository, bool is_first,
                        struct err *err)
{
    const char *branch = clone->remote->branch;
    const char *refspec = arena_printf(clone->arena, "+%s:" CLONE_HEAD, branch ? branch : "HEAD");
    struct git git = git_in(clone, repository);

    git.timeout = is_first && clone->timeout < GIT_CLONE_NS ? GIT_CLONE_NS : clone->timeout;
    if (is_first)
        return git_run(&git,
                       GIT("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--depth=1",
                           "origin", refspec),
                       NULL, err);
    return git_run(&git,
                   GIT("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "origin", refspec),
                   NULL, err);
}

static int make_repository(const struct clone *clone, const char *at, struct err *err)
{
    const struct git git = { .arena = clone->arena, .cancel = clone->cancel };
    const char *info = path_join(clone->arena, at, "info");

    if (tree_remove(at, err) < 0 ||
        git_run(&git, GIT("init", "--quiet", "--bare", "--template=", at), NULL, err) < 0 ||
        fs_mkdirs(info, FOLDER_MODE, err) < 0)
        return -1;
    return fs_replace(path_join(clone->arena, info, "attributes"), STR(UNTOUCHED), NULL, err);
}

/* Beside, then in one step. */
static int fetch_all(const struct clone *clone, struct err *err)
{
    const char *making = clone_path(clone, CLONE_SUFFIX ".new");
    const char *place = clone_path(clone, CLONE_SUFFIX);

    if (make_repository(clone, making, err) < 0)
        return -1;
    crash_point("gitfs-fetching");
    if (fetch_branch(clone, making, true, err) < 0 || fs_sync_system(making, err) < 0)
        return -1;
    crash_point("gitfs-fetched");
    if (tree_remove(place, err) < 0 || fs_rename(making, place, err) < 0)
        return -1;
    return fs_sync_folder(clone_store(clone->arena, clone->folder), err);
}

static bool is_clone_damaged(const struct clone *clone)
{
    const struct git git = clone_git(clone);
    struct process_result result;
    struct err err;

    return git_try(&git, GIT("fsck", "--connectivity-only", "--no-dangling", "--no-progress"),
                   &result, &err) == 0 &&
           !process_status_ok(result.status);
}

int clone_fetch(const struct clone *clone, struct err *err)
{
    const char *place = clone_path(clone, CLONE_SUFFIX);

    if (!is_clone_there(place))
        return fetch_all(clone, err);
    if (tree_walk(place, remove_lock, NULL, err) < 0)
        return -1;
    if (fetch_branch(clone, place, false, err) == 0)
        return 0;
    if (err->code == ERR_TIMEOUT)
        return err_set(err, ERR_TIMEOUT, "no answer within %lld seconds ('gitfs.timeout')",
                       (long long)(clone->timeout / CLOCK_SECOND));
    if (err->code != ERR_SYSTEM || !is_clone_damaged(clone))
        return -1;
    return fetch_all(clone, err);
}

/* --- asking -------------------------------------------------------------------------- */

int clone_find_commit(const struct clone *clone, const char *name, const char **ret_commit,
                      struct err *err)
{
    const struct git git = clone_git(clone);
    struct process_result result;

    *ret_commit = NULL;
    if (!is_clone_there(git.dir))
        return 0;
    if (git_try(&git,
                GIT("rev-parse", "--verify", "--quiet",
                    arena_printf(clone->arena, "%s^{commit}", name)),
                &result, err) < 0)
        return -1;
    if (process_status_ok(result.status))
        *ret_commit = arena_str(clone->arena, str_trim(result.out)).p;
    return 0;
}

int clone_find_tree(const struct clone *clone, const char *commit, const char **ret_tree,
                    struct err *err)
{
    const struct git git = clone_git(clone);
    const char *root = clone->remote->root, *kind;

    if (!root)
        return git_ask(
            &git, GIT("rev-parse", "--verify", arena_printf(clone->arena, "%s^{tree}", commit)),
            ret_tree, err);
    if (git_ask(&git,
                GIT("rev-parse", "--verify", arena_printf(clone->arena, "%s:%s", commit, root)),
                ret_tree, err) < 0 ||
        git_ask(&git, GIT("cat-file", "-t", *ret_tree), &kind, err) < 0)
        return err->code == ERR_SYSTEM
                   ? err_set(err, ERR_NOT_FOUND, "commit %.12s has no folder '%s' ('root')", commit,
                             root)
                   : -1;
    if (strcmp(kind, "tree") != 0)
        return err_set(err, ERR_INVALID, "'%s' ('root') is not a folder in commit %.12s", root,
                       commit);
    return 0;
}

int clone_is_forward(const struct clone *clone, const char *before, const char *after, bool *ret,
                     struct err *err)
{
    const struct git git = clone_git(clone);
    struct process_result result;

    if (git_try(&git, GIT("merge-base", "--is-ancestor", before, after), &result, err) < 0)
        return -1;
    *ret = process_status_ok(result.status);
    return 0;
}
