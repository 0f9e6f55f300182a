/* git.latest - keeps a working copy up to date with its repository. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/modules/git/advertised.h"
#include "states/modules/git/follow.h"
#include "states/modules/git/mirror.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/git/repo.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct latest_args

struct latest_args {
    struct repo_args repo;
    enum follow_reset force_reset;
    bool force_clone, force_checkout, update_head, fetch_tags;
};

/* clang-format off */
static const struct param latest_params[] = {
    PARAM("name", STR, ARGS, repo.url, "the repository", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "url"),
    PARAM("target", PATH, ARGS, repo.path, "the working copy", .flags = PARAM_REQUIRED),
    PARAM("force", BOOL, ARGS, repo.force, "force_clone and force_reset"),
    PARAM("force_clone", BOOL, ARGS, force_clone, "replace the contents of a folder that is not a working copy"),
    PARAM("force_reset", CHOICE, ARGS, force_reset, "drop local commits and changes that conflict; remote-changes: only to reach another commit", .choices = "false|true|remote-changes", .default_text = "false"),
    PARAM("force_checkout", BOOL, ARGS, force_checkout, "drop local changes when checking out another branch or revision"),
    PARAM("update_head", BOOL, ARGS, update_head, "false: a working copy that is there stays where it is", .default_text = "true"),
    PARAM("fetch_tags", BOOL, ARGS, fetch_tags, "fetch all tags, not only those of the fetched commits", .default_text = "true"),
    PARAM("bare", BOOL, ARGS, repo.bare, "a bare repository with all branches and tags, instead of a working copy"),
    PARAM("mirror", BOOL, ARGS, repo.mirror, "a bare repository with all references; references deleted there are deleted here"),
    REPO_PARAMS(ARGS, repo),
    PARAM_IDLE("password", "Windows only"),
    PARAM_IDLE("output_encoding", "the output of git is not converted"),
    PARAM_IDLE("force_fetch", "a fetch always follows the repository"),
    PARAM_IDLE("sync_tags", "tags that are gone there stay here"),
    PARAM_REFUSED("refspec_branch", "all branches and tags are fetched", .default_text = "*"),
    PARAM_REFUSED("refspec_tag", "all branches and tags are fetched", .default_text = "*"),
    { 0 },
};
/* clang-format on */

static bool is_bare_or_mirror(const struct latest_args *args)
{
    return args->repo.bare || args->repo.mirror;
}

/* Parameters that need a working copy. */
static int validate_bare(const struct latest_args *args, const struct value *where,
                         struct diags *diags)
{
    const struct {
        const char *key;
        bool given;
    } others[] = {
        { "rev", args->repo.rev },
        { "branch", args->repo.branch },
        { "depth", args->repo.depth > 0 },
        { "submodules", args->repo.submodules },
        { "force_reset", args->force_reset != FOLLOW_KEEP },
        { "force_checkout", args->force_checkout },
    };
    int result = 0;

    for (size_t i = 0; is_bare_or_mirror(args) && i < ARRAY_LEN(others); i++)
        if (others[i].given)
            result = value_diag(diags, where, "'%s' and '%s' are mutually exclusive", others[i].key,
                                args->repo.mirror ? "mirror" : "bare");
    return result;
}

static int latest_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct latest_args *want = args;
    const int result = repo_validate(&want->repo, where, diags);

    return validate_bare(want, where, diags) < 0 ? -1 : result;
}

/* Query the remote. A `rev` that turns out to be a branch is followed as one, and HEAD is the
 * default branch of the repository. */
static int query_remote(struct state_run *run, struct repo_args *want, struct advertised *ret,
                        struct err *err)
{
    const char *name = want->rev ? want->rev : want->branch ? want->branch : "HEAD";

    if (advertised_find(run, want, name, ret, err) < 0)
        return -1;
    if (want->rev && (ret->is_branch || strcmp(name, "HEAD") == 0)) {
        want->branch = ret->is_branch ? name : NULL;
        want->rev = NULL;
    }
    if (!ret->commit && want->rev)
        ret->commit = name; /* an abbreviated commit: needs a fetch */
    if (ret->commit)
        return 0;
    return err_set(err, ERR_NOT_FOUND, "%s has no branch or tag '%s'", want->url, name);
}

static int is_latest_current(struct state_run *run, const struct repo_args *want,
                             const struct repo *now, const char *commit, bool *ret, struct err *err)
{
    if (now->head && strcmp(now->head, commit) == 0) {
        *ret = want->rev || !want->branch ||
               (now->branch && strcmp(now->branch, want->branch) == 0) || !now->branch;
        return 0;
    }
    *ret = false;
    if (advertised_is_commit(commit))
        return 0;
    return repo_is_at(run, want, now, commit, ret, err);
}

/* In a Salt file `branch` is the name of the local branch. */
static struct follow follow_of(const struct latest_args *args, const struct repo_args *repo)
{
    return (struct follow){
        .repo = repo,
        .reset = args->repo.force ? FOLLOW_DROP : args->force_reset,
        .force_checkout = args->force_checkout,
        .keep_head = !args->update_head,
    };
}

static int latest_check(struct state_run *run, const void *args, struct err *err)
{
    struct repo_args copy = ((const struct latest_args *)args)->repo, *want = &copy;
    struct repo now;
    struct advertised found;
    bool current;

    if (is_bare_or_mirror(args))
        return mirror_check(run, want, err);
    if (run->salt) {
        const struct follow follow = follow_of(args, want);

        return follow_check(run, &follow, err);
    }
    if (repo_look(run, want, &now, err) < 0)
        return -1;
    if (!now.is_repo) {
        state_differs(run,
                      now.exists ? "target %s is not a working copy" : "target %s does not exist",
                      want->path);
        return 0;
    }
    if (!now.url || strcmp(now.url, want->url) != 0)
        state_differs(run, "remote URL mismatch in %s: got \"%s\", want \"%s\"", want->path,
                      now.url ? now.url : "", want->url);
    if (query_remote(run, want, &found, err) < 0 ||
        is_latest_current(run, want, &now, found.commit, &current, err) < 0)
        return -1;
    if (!current && !((const struct latest_args *)args)->update_head)
        state_say(run, "%s is behind %s, and update_head is false", want->path, want->remote);
    else if (!current && want->rev)
        state_differs(run, "%s needs checkout to rev %s", want->path, want->rev);
    else if (!current)
        state_differs(run, "%s is behind %s (HEAD %.12s, there %.12s)", want->path, want->remote,
                      now.head ? now.head : "none", found.commit);
    if (!run->differs && want->rev)
        state_say(run, "%s is at rev %s", want->path, want->rev);
    else if (!run->differs)
        state_say(run, "%s is up to date", want->path);
    return 0;
}

/* --- applying -------------------------------------------------------------------------------- */

static const char *find_latest_target(struct state_run *run, const struct repo_args *want,
                                      const char *commit)
{
    if (want->rev || advertised_is_commit(commit))
        return commit;
    return arena_printf(run->arena, "refs/remotes/%s/%s", want->remote,
                        want->branch ? want->branch : "HEAD");
}

/* A branch that exists only in the remote yet, even if a tag has its name. */
static int start_latest_branch(struct state_run *run, const struct repo_args *want, struct err *err)
{
    const char *here = arena_printf(run->arena, "refs/heads/%s", want->branch);
    const char *there = arena_printf(run->arena, "refs/remotes/%s/%s", want->remote, want->branch);
    const char *commit;

    if (repo_resolve(run, want, here, &commit, err) < 0)
        return -1;
    if (commit)
        return 0;
    return repo_git(run, want, want->path,
                    TOOL("branch", "--quiet", "--track", want->branch, there), NULL, err);
}

static int check_out_latest(struct state_run *run, const struct repo_args *want,
                            const struct repo *now, bool reset, struct err *err)
{
    const char *name = want->rev ? want->rev : want->branch;

    if (!name || (now->branch && strcmp(now->branch, name) == 0))
        return 0;
    return repo_git(run, want, want->path,
                    reset ? TOOL("checkout", "--quiet", "--force", name, "--")
                          : TOOL("checkout", "--quiet", name, "--"),
                    NULL, err);
}

static int update_latest_repo(struct state_run *run, const struct latest_args *args,
                              const struct repo *now, const struct advertised *found,
                              struct err *err)
{
    const struct repo_args *want = &args->repo;
    const bool reset = want->force || args->force_reset != FOLLOW_KEEP;
    const bool forced = reset || args->force_checkout;
    const char *target;

    if (repo_note(run, now, err) < 0 || repo_set_url(run, want, now, err) < 0 ||
        repo_fetch(run, want, err) < 0 ||
        (found->is_branch && start_latest_branch(run, want, err) < 0) ||
        check_out_latest(run, want, now, forced, err) < 0)
        return -1;
    target = find_latest_target(run, want, found->commit);
    if (reset)
        return repo_git(run, want, want->path, TOOL("reset", "--quiet", "--hard", target), NULL,
                        err);
    if (want->rev)
        return 0;
    if (repo_git(run, want, want->path, TOOL("merge", "--quiet", "--ff-only", target), NULL, err) <
        0)
        return err_wrap(err, "local branch in %s has diverged from %s (force_reset: true drops it)",
                        want->path, want->remote);
    return 0;
}

static int clone_latest_repo(struct state_run *run, const struct latest_args *args, struct err *err)
{
    struct repo_args want = args->repo;

    want.force |= args->force_clone;
    if (repo_clone(run, &want, err) < 0)
        return -1;
    if (!want.rev)
        return 0;
    return repo_check_out_rev(run, &want, err);
}

static int latest_apply(struct state_run *run, const void *args, struct err *err)
{
    struct latest_args copy = *(const struct latest_args *)args, *latest = &copy;
    struct repo_args *want = &copy.repo;
    struct repo now, after;
    struct advertised found;
    bool current = false;

    want->no_tags = !latest->fetch_tags;
    want->force |= latest->force_clone && (is_bare_or_mirror(latest) || run->salt);
    if (is_bare_or_mirror(latest))
        return mirror_apply(run, want, err);
    if (run->salt) {
        const struct follow follow = follow_of(args, want);

        return follow_apply(run, &follow, err);
    }
    if (repo_look(run, want, &now, err) < 0)
        return -1;
    if (((now.is_repo || want->rev) && query_remote(run, want, &found, err) < 0) ||
        (now.is_repo && is_latest_current(run, want, &now, found.commit, &current, err) < 0))
        return -1;
    current |= now.is_repo && !latest->update_head;
    if (current && now.url && strcmp(now.url, want->url) == 0) {
        state_unchanged(run);
        return 0;
    }
    if ((now.is_repo ? update_latest_repo(run, latest, &now, &found, err)
                     : clone_latest_repo(run, latest, err)) < 0 ||
        repo_update_submodules(run, want, err) < 0 || repo_look(run, want, &after, err) < 0)
        return -1;
    buf_clear(&run->text);
    if (now.is_repo)
        state_say(run, "updated %s to latest", want->path);
    else
        state_say(run, "cloned %s to %s", want->url, want->path);
    state_detail(run, "url", "%s", want->url);
    state_detail(run, "target", "%s", want->path);
    state_detail(run, "revision", "%s", after.head ? after.head : "");
    return 0;
}

static int latest_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct latest_args *latest = args;

    return is_bare_or_mirror(latest) ? mirror_revert(run, &latest->repo, err)
                                     : repo_revert(run, &latest->repo, err);
}

const struct module module_git_latest = {
    .name = "git.latest",
    .summary = "keep a working copy, or a bare repository, up to date",
    .details =
        "Only fast-forwards, unless force_reset is set. A `rev` that is a branch is followed. A "
        "dry run queries the remote too. A revert goes back to the previous commit.",
    .example = "name: https://git.example.org/app.git\ntarget: /srv/app\nbranch: main\n",
    .params = latest_params,
    .flags = MODULE_TREE | MODULE_DRY_REVERT,
    .args_size = sizeof(struct latest_args),
    .validate = latest_validate,
    .check = latest_check,
    .apply = latest_apply,
    .revert = latest_revert,
};
