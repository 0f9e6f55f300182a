#include "fleet/gitfs/checkout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/vec.h"
#include "fleet/gitfs/clone.h"
#include "fleet/gitfs/remote.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"
#include "core/sys/tree.h"

#define LINK_MAX ((size_t)8192)
#define LINK     "gitdir: "
/* In the working tree, so that it lives and dies with its files. */
#define UPSTREAM "refs/worktree/upstream"

/* State of the checkout's place. */
struct checkout_state {
    enum { NOTHING, FOREIGN, DAMAGED, WHOLE } kind;
    const char *commit, *tree;
    VEC(const char *) edits; /* paths that are not as in the commit, those that are gone too */
    bool has_repository;     /* one of them is another repository, of which git lists no files */
};

/* --- whose it is ---------------------------------------------------------------------- */

static const char *find_checkout_place(const struct clone *clone)
{
    return path_join(clone->arena, clone->folder, clone->remote->name);
}

/* Where git keeps what it knows about a working tree of ours; NULL: it is not ours. */
static const char *find_admin(struct arena *arena, const char *folder, const char *name,
                              const char *tree)
{
    const char *below =
        arena_printf(arena, "%s/%s" CLONE_SUFFIX "/worktrees/", clone_store(arena, folder), name);
    struct fs_info info;
    struct str text;
    struct err err;

    tree = path_join(arena, tree, ".git");
    if (fs_lstat(tree, &info, &err) < 0 || info.kind != FS_FILE ||
        fs_read(arena, tree, LINK_MAX, &text, &err) < 0 || !str_starts(text, STR(LINK)))
        return NULL;
    text = str_trim(str_from_offset(text, strlen(LINK)));
    if (!str_starts(text, str_from(below)) || str_find_char(text, '/', strlen(below)) != STR_NONE ||
        str_ends(text, STR("/..")))
        return NULL;
    return arena_str(arena, text).p;
}

bool checkout_is_ours(struct arena *arena, const char *folder, const char *name)
{
    return find_admin(arena, folder, name, path_join(arena, folder, name)) != NULL;
}

/* --- what is there -------------------------------------------------------------------- */

static struct git git_at(const struct clone *clone, const char *tree)
{
    return (struct git){
        .arena = clone->arena, .cancel = clone->cancel, .work = tree, .remote = clone->remote
    };
}

/* One word; NULL: git does not know it. */
static int ask_tree(const struct clone *clone, const char *tree, const char *name, const char **ret,
                    struct err *err)
{
    const struct git git = git_at(clone, tree);
    struct process_result result;

    if (git_try(&git, GIT("rev-parse", "--verify", "--quiet", name), &result, err) < 0)
        return -1;
    *ret =
        process_status_ok(result.status) ? arena_str(clone->arena, str_trim(result.out)).p : NULL;
    return 0;
}

/* "XY path NUL", for each file that differs from the commit. */
static int list_edits(const struct clone *clone, const char *tree, struct checkout_state *standing,
                      struct err *err)
{
    const struct git git = git_at(clone, tree);
    struct process_result result;
    struct str rest;

    if (git_try(&git,
                GIT("status", "--porcelain", "-z", "--untracked-files=all", "--ignored",
                    "--no-renames", "--ignore-submodules=all"),
                &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status) || result.out_dropped) {
        standing->kind = DAMAGED;
        return 0;
    }
    rest = result.out;
    while (rest.n > 0) {
        const struct str line = str_cut(&rest, '\0');

        standing->has_repository |= str_ends(line, STR("/"));
        if (line.n > 3)
            VEC_PUSH_IN(clone->arena, &standing->edits,
                        arena_str(clone->arena, str_from_offset(line, 3)).p);
    }
    return 0;
}

static bool is_empty_folder(struct arena *arena, const char *path)
{
    struct fs_names names = { 0 };
    struct err err;

    return fs_list(arena, path, &names, &err) == 0 && names.list.n == 0;
}

static int inspect_checkout(const struct clone *clone, struct checkout_state *ret, struct err *err)
{
    const char *place = find_checkout_place(clone), *admin;
    struct fs_info info;

    *ret = (struct checkout_state){ .kind = NOTHING };
    if (fs_lstat(place, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE || (info.kind == FS_FOLDER && is_empty_folder(clone->arena, place)))
        return 0;
    admin = find_admin(clone->arena, clone->folder, clone->remote->name, place);
    ret->kind = admin ? DAMAGED : FOREIGN;
    if (!admin || access(admin, F_OK) < 0)
        return 0;
    if (ask_tree(clone, place, UPSTREAM, &ret->commit, err) < 0 ||
        ask_tree(clone, place, "HEAD^{tree}", &ret->tree, err) < 0)
        return -1;
    if (ret->commit && ret->tree)
        ret->kind = WHOLE;
    return ret->kind == WHOLE ? list_edits(clone, place, ret, err) : 0;
}

static int refuse_foreign(const struct clone *clone, struct err *err)
{
    return err_set(err, ERR_INVALID,
                   "'%s' exists and was not cloned from a remote: move it away, or give the remote "
                   "another 'name'",
                   find_checkout_place(clone));
}

/* --- making it ------------------------------------------------------------------------ */

/* The commit to check out: itself, or one that has only its folder `root`. */
static int choose_target(const struct clone *clone, const char *commit, const char *tree,
                         const char **ret, struct err *err)
{
    const struct git git = clone_git(clone);
    const char *root = clone->remote->root;

    *ret = commit;
    if (!root)
        return 0;
    return git_ask(&git,
                   GIT("commit-tree", tree, "-m",
                       arena_printf(clone->arena, "folder %s of commit %s", root, commit)),
                   ret, err);
}

static int make_checkout_tree(const struct clone *clone, const char *commit, const char *tree,
                              const char *making, struct err *err)
{
    const struct git git = clone_git(clone), inside = git_at(clone, making);
    struct checkout_state standing = { .kind = WHOLE };
    const char *target;

    if (tree_remove(making, err) < 0 || choose_target(clone, commit, tree, &target, err) < 0 ||
        git_run(&git, GIT("worktree", "add", "--quiet", "--force", "--detach", making, target),
                NULL, err) < 0 ||
        git_run(&inside, GIT("update-ref", UPSTREAM, commit), NULL, err) < 0 ||
        list_edits(clone, making, &standing, err) < 0)
        return -1;
    if (standing.kind != WHOLE || standing.edits.n)
        return err_set(err, ERR_INVALID, "the checkout of commit %.12s is not complete%s%s", commit,
                       standing.edits.n ? ": " : "", standing.edits.n ? standing.edits.p[0] : "");
    return fs_sync_system(making, err);
}

/* --- what was edited ------------------------------------------------------------------ */

static int keep_checkout_file(const struct clone *clone, const char *path, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *from = path_join(&arena, find_checkout_place(clone), path);
    const char *to = arena_printf(&arena, "%s/" CHECKOUT_KEPT "/%s/%s", clone->folder,
                                  clone->remote->name, path);
    struct fs_info info;

    if (fs_lstat(from, &info, err) < 0)
        return -1;
    if (info.kind != FS_FILE)
        return 0;
    if (fs_mkdirs(path_dirname(&arena, to), 0700, err) < 0)
        return -1;
    return fs_copy(from, to, NULL, err);
}

static int keep_edits(const struct clone *clone, const struct checkout_state *standing,
                      struct err *err)
{
    VEC_EACH (&standing->edits, path)
        if (keep_checkout_file(clone, *path, err) < 0)
            return err_wrap(err, "edited file '%s' cannot be kept", *path);
    return 0;
}

/* A folder of which nothing is known: all of it may be edited. */
static int put_checkout_aside(const struct clone *clone, const char *old, struct err *err)
{
    const char *kept = path_join(clone->arena, clone->folder, CHECKOUT_KEPT);
    const char *to = arena_printf(clone->arena, "%s/%s.%lld", kept, clone->remote->name,
                                  (long long)(clock_wall() / CLOCK_SECOND));

    if (fs_mkdirs(kept, 0700, err) < 0 || fs_rename(old, to, err) < 0)
        return -1;
    return fs_unlink(path_join(clone->arena, to, ".git"), err);
}

/* --- putting it in its place ---------------------------------------------------------- */

static int exchange_folders(const char *making, const char *place, const char *old, struct err *err)
{
    if (tree_remove(old, err) < 0)
        return -1;
    if (renameat2(AT_FDCWD, making, AT_FDCWD, place, RENAME_EXCHANGE) == 0)
        return fs_rename(making, old, err);
    /* the tree has no readers yet, and is made again after a crash */
    if (errno != ENOENT && fs_rename(place, old, err) < 0)
        return -1;
    return fs_rename(making, place, err);
}

/* Git looks there for the working tree, and forgets it when there is none. */
static int note_place(const struct clone *clone, const char *place, struct err *err)
{
    const char *admin = find_admin(clone->arena, clone->folder, clone->remote->name, place);

    if (!admin)
        return err_set(err, ERR_INVALID, "'%s' is not a working tree", place);
    return fs_replace(path_join(clone->arena, admin, "gitdir"),
                      str_from(arena_printf(clone->arena, "%s/.git\n", place)), NULL, err);
}

/* Git's records of removed working trees. */
static int remove_admins(const struct clone *clone, const char *place, struct err *err)
{
    const char *all = clone_path(clone, CLONE_SUFFIX "/worktrees");
    const char *ours = find_admin(clone->arena, clone->folder, clone->remote->name, place);
    struct fs_names names = { 0 };

    if (fs_list(clone->arena, all, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name) {
        const char *admin = path_join(clone->arena, all, *name);

        if ((!ours || strcmp(admin, ours) != 0) && tree_remove(admin, err) < 0)
            return -1;
    }
    return 0;
}

static int put_checkout_in_place(const struct clone *clone, const struct checkout_state *before,
                                 const char *making, struct err *err)
{
    const char *place = find_checkout_place(clone), *old = clone_path(clone, ".old");

    if (keep_edits(clone, before, err) < 0 || exchange_folders(making, place, old, err) < 0 ||
        fs_sync_folder(clone->folder, err) < 0)
        return -1;
    crash_point("gitfs-swapped");
    if (note_place(clone, place, err) < 0)
        return -1;
    if ((before->kind == DAMAGED || before->has_repository) &&
        put_checkout_aside(clone, old, err) < 0)
        return -1;
    return tree_remove(old, err) < 0 ? -1 : remove_admins(clone, place, err);
}

static int replace_folder(const struct clone *clone, const struct checkout_state *before,
                          const char *commit, const char *tree, struct err *err)
{
    const struct git git = clone_git(clone);
    const char *making = clone_path(clone, ".new");

    if (make_checkout_tree(clone, commit, tree, making, err) < 0)
        return -1;
    crash_point("gitfs-checked-out");
    if (put_checkout_in_place(clone, before, making, err) < 0)
        return -1;
    return git_run(&git, GIT("update-ref", CLONE_USED, commit), NULL, err);
}

/* The folder has this commit. */
static int use_commit(const struct clone *clone, const struct checkout_state *now,
                      const char *commit, struct checkout_report *report, struct err *err)
{
    const char *tree;

    if (clone_find_tree(clone, commit, &tree, err) < 0)
        return -1;
    report->edits = now->edits.n;
    report->edit = now->edits.n ? now->edits.p[0] : NULL;
    report->was_damaged = now->kind == DAMAGED;
    if (now->kind != WHOLE || now->edits.n || strcmp(now->commit, commit) != 0 ||
        strcmp(now->tree, tree) != 0) {
        if (replace_folder(clone, now, commit, tree, err) < 0)
            return -1;
        report->is_changed = true;
    }
    report->commit = commit;
    return 0;
}

/* --- what it is asked for ------------------------------------------------------------- */

static int compare_histories(const struct clone *clone, const char *before, const char *after,
                             struct checkout_report *report, struct err *err)
{
    bool is_forward;

    if (clone_is_forward(clone, before, after, &is_forward, err) < 0)
        return -1;
    report->is_rewritten = !is_forward;
    if (is_forward || clone->remote->force_push == REMOTE_FOLLOW)
        return 0;
    return err_set(err, ERR_INVALID,
                   "the branch was rewritten: commit %.12s is not in the history of %.12s; "
                   "'force_push: refuse' keeps the older one",
                   before, after);
}

static int begin_report(const struct clone *clone, struct checkout_state *now,
                        struct checkout_report *report, struct err *err)
{
    const int failed = inspect_checkout(clone, now, err);

    *report = (struct checkout_report){ .is_ours = now->kind == DAMAGED || now->kind == WHOLE,
                                        .commit = now->commit,
                                        .before = now->commit };
    if (failed)
        return -1;
    return now->kind == FOREIGN ? refuse_foreign(clone, err) : 0;
}

int checkout_pull(const struct clone *clone, struct checkout_report *ret, struct err *err)
{
    struct checkout_state now;
    const char *commit;
    bool is_moved;

    if (begin_report(clone, &now, ret, err) < 0)
        return -1;
    if (clone_is_moved(clone, &is_moved, err) < 0 || clone_fetch(clone, err) < 0 ||
        clone_find_commit(clone, CLONE_HEAD, &commit, err) < 0)
        return -1;
    if (!commit)
        return err_set(err, ERR_INVALID, "the fetched object is not a commit");
    if (now.commit && strcmp(now.commit, commit) != 0 && !is_moved &&
        compare_histories(clone, now.commit, commit, ret, err) < 0)
        return -1;
    /* a repository that was fetched anew no longer knows the folder */
    if (inspect_checkout(clone, &now, err) < 0 || use_commit(clone, &now, commit, ret, err) < 0)
        return -1;
    return clone_note_source(clone, err);
}

int checkout_restore(const struct clone *clone, struct checkout_report *ret, struct err *err)
{
    struct checkout_state now;
    const char *commit;

    if (begin_report(clone, &now, ret, err) < 0)
        return -1;
    commit = now.commit;
    if (!commit && clone_find_commit(clone, CLONE_USED, &commit, err) < 0)
        return -1;
    if (!commit)
        return err_set(err, ERR_NOT_FOUND, "not cloned yet");
    return use_commit(clone, &now, commit, ret, err);
}
