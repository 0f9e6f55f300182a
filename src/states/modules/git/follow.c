#include "states/modules/git/follow.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/git/advertised.h"
#include "states/modules/git/repo.h"
#include "states/state/module.h"
#include "core/sys/process.h"

/* A working copy, and what it is to follow. */
struct course {
    const struct follow *follow;
    struct repo now;
    const char *rev;        /* the name in the remote */
    struct advertised goal; /* its commit there */
    const char *local;      /* the branch that follows; NULL: HEAD does, on no branch */
    const char *base;       /* the commit of `local`; NULL: it does not exist */
    const char *upstream;   /* upstream of `local`, "origin/main"; NULL: none */
    bool dirty;             /* files have changes */
};

static int run_followed_git(struct state_run *run, const struct course *course,
                            const char *const *words, struct err *err)
{
    return repo_git(run, course->follow->repo, course->follow->repo->path, words, NULL, err);
}

/* --- reading ----------------------------------------------------------------------------- */

static int read_goal(struct state_run *run, struct course *course, struct err *err)
{
    const struct repo_args *repo = course->follow->repo;

    course->rev = repo->rev ? repo->rev : "HEAD";
    if (advertised_find(run, repo, course->rev, &course->goal, err) < 0)
        return -1;
    if (!course->goal.commit && repo_is_hex(course->rev))
        course->goal.commit = course->rev; /* an abbreviated commit: needs a fetch */
    if (course->goal.commit)
        return 0;
    return err_set(err, ERR_NOT_FOUND, "%s has no branch or tag '%s'", repo->url, course->rev);
}

static int read_local_changes(struct state_run *run, struct course *course, struct err *err)
{
    struct str text;

    if (repo_git(run, course->follow->repo, course->follow->repo->path,
                 TOOL("status", "--porcelain", "--untracked-files=no"), &text, err) < 0)
        return -1;
    course->dirty = text.n > 0;
    return 0;
}

static int read_upstream(struct state_run *run, struct course *course, struct err *err)
{
    const struct repo_args *repo = course->follow->repo;
    struct process_result result;

    if (repo_try(run, repo, repo->path,
                 TOOL("rev-parse", "--abbrev-ref", "--verify", "--quiet",
                      arena_printf(run->arena, "%s@{upstream}", course->local)),
                 &result, err) < 0)
        return -1;
    course->upstream =
        process_status_ok(result.status) ? arena_str(run->arena, str_trim(result.out)).p : NULL;
    return 0;
}

static int read_local_branch(struct state_run *run, struct course *course, struct err *err)
{
    const struct repo_args *repo = course->follow->repo;

    course->local = repo->branch ? repo->branch : course->now.branch;
    course->base = course->now.head;
    if (!course->local)
        return 0;
    if (repo_resolve(run, repo, arena_printf(run->arena, "refs/heads/%s", course->local),
                     &course->base, err) < 0)
        return -1;
    return course->base ? read_upstream(run, course, err) : 0;
}

/* An abbreviated commit is what the copy has for it. */
static int complete_goal(struct state_run *run, struct course *course, struct err *err)
{
    const char *commit;

    if (advertised_is_commit(course->goal.commit))
        return 0;
    if (repo_resolve(run, course->follow->repo, course->goal.commit, &commit, err) < 0)
        return -1;
    if (commit)
        course->goal.commit = commit;
    return 0;
}

static int read_course(struct state_run *run, struct course *course, struct err *err)
{
    if (read_local_branch(run, course, err) < 0 || read_local_changes(run, course, err) < 0)
        return -1;
    return complete_goal(run, course, err);
}

/* --- comparing --------------------------------------------------------------------------- */

static bool is_clone_needed(const struct course *course)
{
    return !course->base || strcmp(course->base, course->goal.commit) != 0;
}

static bool is_elsewhere(const struct course *course)
{
    return course->local && (!course->now.branch || strcmp(course->local, course->now.branch) != 0);
}

/* The upstream for the local branch; NULL: none. The HEAD of the remote says nothing about it.
 */
static const char *find_upstream(struct state_run *run, const struct course *course)
{
    if (strcmp(course->rev, "HEAD") == 0)
        return course->upstream;
    return course->goal.is_branch
               ? arena_printf(run->arena, "%s/%s", course->follow->repo->remote, course->rev)
               : NULL;
}

static bool is_same_rev(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_dropping_changes(const struct course *course)
{
    return course->dirty &&
           (course->follow->reset == FOLLOW_DROP ||
            (course->follow->reset == FOLLOW_DROP_FOR_NEW && is_clone_needed(course)));
}

/* True also when the copy does not have the commit yet. */
static int can_forward(struct state_run *run, const struct course *course, bool *ret,
                       struct err *err)
{
    const struct repo_args *repo = course->follow->repo;
    struct process_result result;
    const char *commit;

    *ret = true;
    if (!course->base)
        return 0;
    if (repo_resolve(run, repo, course->goal.commit, &commit, err) < 0)
        return -1;
    if (!commit)
        return 0;
    if (repo_try(run, repo, repo->path, TOOL("merge-base", "--is-ancestor", course->base, commit),
                 &result, err) < 0)
        return -1;
    *ret = process_status_ok(result.status);
    return 0;
}

/* A tag that was moved there is not followed silently. */
static int refuse_moved_tag(struct state_run *run, const struct course *course, struct err *err)
{
    const char *here = NULL;

    if (!course->goal.is_tag)
        return 0;
    if (repo_resolve(run, course->follow->repo,
                     arena_printf(run->arena, "refs/tags/%s", course->rev), &here, err) < 0)
        return -1;
    if (!here || strcmp(here, course->goal.commit) == 0)
        return 0;
    return err_set(err, ERR_INVALID,
                   "tag '%s' has moved in %s, from %.12s to %.12s (force_reset: true follows it)",
                   course->rev, course->follow->repo->remote, here, course->goal.commit);
}

static int refuse_losses(struct state_run *run, const struct course *course, struct err *err)
{
    const char *path = course->follow->repo->path;
    bool forward;

    if (course->follow->reset != FOLLOW_KEEP || !is_clone_needed(course))
        return 0;
    if (course->dirty)
        return err_set(err, ERR_INVALID,
                       "%s has uncommitted changes (force_reset: true drops them)", path);
    if (refuse_moved_tag(run, course, err) < 0 || can_forward(run, course, &forward, err) < 0)
        return -1;
    if (!forward)
        return err_set(err, ERR_INVALID,
                       "%s cannot be fast-forwarded to %s (force_reset: true drops local commits)",
                       course->local ? course->local : path, course->rev);
    return 0;
}

static void compare_course(struct state_run *run, const struct course *course)
{
    const struct repo_args *repo = course->follow->repo;
    const char *upstream = find_upstream(run, course);

    if (!is_same_rev(course->now.url, repo->url))
        state_differs(run, "remote URL mismatch in %s: got \"%s\", want \"%s\"", repo->path,
                      course->now.url ? course->now.url : "", repo->url);
    if (course->follow->keep_head) {
        if (is_clone_needed(course))
            state_say(run, "%s is behind %s, and update_head is false", repo->path, repo->remote);
        return;
    }
    if (is_elsewhere(course))
        state_differs(run, "%s is not on branch %s", repo->path, course->local);
    if (is_clone_needed(course))
        state_differs(run, "%s is not at %s (%.12s, there %.12s)",
                      course->local ? course->local : "HEAD", course->rev,
                      course->base ? course->base : "none", course->goal.commit);
    if (course->base && course->local && !is_same_rev(course->upstream, upstream))
        state_differs(run, "%s tracks %s, not %s", course->local,
                      course->upstream ? course->upstream : "nothing",
                      upstream ? upstream : "nothing");
    if (is_dropping_changes(course))
        state_differs(run, "%s has uncommitted changes", repo->path);
}

/* Before a clone: its only question is whether the remote has the revision. */
static int follow_read(struct state_run *run, const struct follow *follow, struct course *ret,
                       struct err *err)
{
    *ret = (struct course){ .follow = follow };
    if (repo_look(run, follow->repo, &ret->now, err) < 0 || read_goal(run, ret, err) < 0)
        return -1;
    if (!ret->now.is_repo)
        return 0;
    if (read_course(run, ret, err) < 0)
        return -1;
    return follow->keep_head ? 0 : refuse_losses(run, ret, err);
}

int follow_check(struct state_run *run, const struct follow *follow, struct err *err)
{
    const struct repo_args *repo = follow->repo;
    struct course course;

    if (follow_read(run, follow, &course, err) < 0)
        return -1;
    if (!course.now.is_repo)
        state_differs(
            run, course.now.exists ? "target %s is not a working copy" : "target %s does not exist",
            repo->path);
    else
        compare_course(run, &course);
    if (!run->differs)
        state_say(run, "%s is up to date", repo->path);
    return 0;
}

/* --- applying ---------------------------------------------------------------------------- */

static int switch_branch(struct state_run *run, const struct course *course, struct err *err)
{
    const bool force = course->follow->force_checkout || course->follow->reset != FOLLOW_KEEP;

    if (!course->base)
        return run_followed_git(run, course,
                                force ? TOOL("checkout", "--quiet", "--force", "--no-track", "-b",
                                             course->local, course->goal.commit, "--")
                                      : TOOL("checkout", "--quiet", "--no-track", "-b",
                                             course->local, course->goal.commit, "--"),
                                err);
    if (!is_elsewhere(course))
        return 0;
    return run_followed_git(run, course,
                            force ? TOOL("checkout", "--quiet", "--force", course->local, "--")
                                  : TOOL("checkout", "--quiet", course->local, "--"),
                            err);
}

static int set_upstream(struct state_run *run, const struct course *course, struct err *err)
{
    const char *want = find_upstream(run, course);

    if (!course->local || is_same_rev(course->upstream, want))
        return 0;
    return run_followed_git(
        run, course,
        want ? TOOL("branch", "--quiet", "--set-upstream-to", want, course->local)
             : TOOL("branch", "--quiet", "--unset-upstream", course->local),
        err);
}

static int move_branch(struct state_run *run, struct course *course, struct err *err)
{
    bool forward;

    if (switch_branch(run, course, err) < 0)
        return -1;
    if (is_dropping_changes(course) &&
        run_followed_git(run, course, TOOL("reset", "--quiet", "--hard"), err) < 0)
        return -1;
    if (can_forward(run, course, &forward, err) < 0)
        return -1;
    if (is_clone_needed(course) &&
        run_followed_git(run, course,
                         forward ? TOOL("merge", "--quiet", "--ff-only", course->goal.commit)
                                 : TOOL("reset", "--quiet", "--hard", course->goal.commit),
                         err) < 0)
        return -1;
    return set_upstream(run, course, err);
}

/* Whatever the fetch brought is looked at again: only now the copy has the commit. */
static int update_followed_repo(struct state_run *run, struct course *course, struct err *err)
{
    struct repo_args fetch = *course->follow->repo;

    fetch.rev = course->rev;
    if (repo_note(run, &course->now, err) < 0 || repo_set_url(run, &fetch, &course->now, err) < 0)
        return -1;
    if (course->follow->keep_head)
        return 0;
    if ((is_clone_needed(course) && repo_fetch(run, &fetch, err) < 0) ||
        complete_goal(run, course, err) < 0 || refuse_losses(run, course, err) < 0)
        return -1;
    return move_branch(run, course, err);
}

/* A short history may not have the commit. */
static int fetch_goal(struct state_run *run, const struct course *course, struct err *err)
{
    const struct repo_args *repo = course->follow->repo;
    const char *depth = arena_printf(run->arena, "--depth=%lld", (long long)repo->depth), *commit;

    if (repo_resolve(run, repo, course->goal.commit, &commit, err) < 0)
        return -1;
    if (commit)
        return 0;
    return run_followed_git(
        run, course, TOOL("fetch", "--quiet", depth, repo->remote, course->goal.commit), err);
}

/* A clone is at the HEAD of the remote, or with a short history at the branch or tag. */
static int clone_followed_repo(struct state_run *run, const struct course *course, struct err *err)
{
    const struct follow follow = { .repo = course->follow->repo, .reset = FOLLOW_DROP };
    struct repo_args clone = *course->follow->repo;
    struct course fresh;

    clone.branch =
        clone.depth > 0 && (course->goal.is_branch || course->goal.is_tag) ? clone.rev : NULL;
    clone.rev = NULL;
    if (repo_clone(run, &clone, err) < 0)
        return -1;
    fresh = (struct course){ .follow = &follow, .rev = course->rev, .goal = course->goal };
    if (repo_look(run, follow.repo, &fresh.now, err) < 0 || read_course(run, &fresh, err) < 0)
        return -1;
    if (clone.depth > 0 && fetch_goal(run, &fresh, err) < 0)
        return -1;
    return fresh.now.head ? move_branch(run, &fresh, err) : 0;
}

static bool is_course_done(struct state_run *run, const struct course *course)
{
    const struct repo_args *repo = course->follow->repo;

    if (!course->now.is_repo || !is_same_rev(course->now.url, repo->url))
        return false;
    if (course->follow->keep_head)
        return true;
    return !is_clone_needed(course) && !is_elsewhere(course) && !is_dropping_changes(course) &&
           (!course->local || is_same_rev(course->upstream, find_upstream(run, course)));
}

int follow_apply(struct state_run *run, const struct follow *follow, struct err *err)
{
    const struct repo_args *repo = follow->repo;
    struct course course;
    struct repo after;

    if (follow_read(run, follow, &course, err) < 0)
        return -1;
    if (is_course_done(run, &course)) {
        state_unchanged(run);
        return 0;
    }
    if ((course.now.is_repo ? update_followed_repo(run, &course, err)
                            : clone_followed_repo(run, &course, err)) < 0 ||
        repo_update_submodules(run, repo, err) < 0 || repo_look(run, repo, &after, err) < 0)
        return -1;
    buf_clear(&run->text);
    if (course.now.is_repo)
        state_say(run, "updated %s to %s", repo->path, course.rev);
    else
        state_say(run, "cloned %s to %s", repo->url, repo->path);
    state_detail(run, "url", "%s", repo->url);
    state_detail(run, "target", "%s", repo->path);
    state_detail(run, "revision", "%s", after.head ? after.head : "");
    return 0;
}
