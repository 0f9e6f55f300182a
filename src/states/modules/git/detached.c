/* git.detached - a working copy at one revision, on no branch. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/git/advertised.h"
#include "states/modules/git/repo.h"
#include "states/state/module.h"

#define ARGS struct detached_args

struct detached_args {
    struct repo_args repo;
    bool force_clone, force_checkout, fetch_remote, hard_reset;
};

/* clang-format off */
static const struct param detached_params[] = {
    PARAM("name", STR, ARGS, repo.url, "the repository", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "url"),
    PARAM("target", PATH, ARGS, repo.path, "where the working copy is", .flags = PARAM_REQUIRED),
    PARAM("force_clone", BOOL, ARGS, force_clone, "replace a folder that is not a working copy"),
    PARAM("force_checkout", BOOL, ARGS, force_checkout, "drop changes of files that are in the way"),
    PARAM("hard_reset", BOOL, ARGS, hard_reset, "drop all changes of files first", .aliases = "force_reset"),
    PARAM("fetch_remote", BOOL, ARGS, fetch_remote, "fetch a revision that is not there yet", .default_text = "true"),
    REPO_PARAMS(ARGS, repo),
    PARAM_IDLE("password", "Windows only"),
    PARAM_IDLE("output_encoding", "the output of git is not converted"),
    { 0 },
};
/* clang-format on */

static int detached_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct detached_args *want = args;

    if (!want->repo.rev)
        return value_diag(diags, where, "git.detached requires 'rev'");
    return repo_validate(&want->repo, where, diags);
}

static bool is_url(const struct repo *now, const char *url)
{
    return now->url && strcmp(now->url, url) == 0;
}

/* The name of a branch there means what the remote has. */
static int find_commit(struct state_run *run, const struct repo_args *want, const char **ret,
                       struct err *err)
{
    const char *there = arena_printf(run->arena, "refs/remotes/%s/%s", want->remote, want->rev);

    if (repo_resolve(run, want, there, ret, err) < 0)
        return -1;
    return *ret ? 0 : repo_resolve(run, want, want->rev, ret, err);
}

/* A branch or tag is where the remote has it now, unless nothing may be fetched. */
static int is_commit_checked_out(struct state_run *run, const struct detached_args *args,
                                 const struct repo *now, bool *ret, struct err *err)
{
    struct advertised there = { 0 };

    if (args->fetch_remote && !repo_is_hex(args->repo.rev) &&
        advertised_find(run, &args->repo, args->repo.rev, &there, err) < 0)
        return -1;
    if (!there.commit && find_commit(run, &args->repo, &there.commit, err) < 0)
        return -1;
    *ret = now->head && there.commit && strcmp(now->head, there.commit) == 0;
    return 0;
}

static int detached_check(struct state_run *run, const void *args, struct err *err)
{
    const struct repo_args *want = &((const struct detached_args *)args)->repo;
    struct repo now;
    bool there;

    if (repo_look(run, want, &now, err) < 0)
        return -1;
    if (!now.is_repo) {
        state_differs(run, now.exists ? "%s is not a working copy" : "%s does not exist",
                      want->path);
        state_made(run, "cloned %s to %s", want->url, want->path);
        return 0;
    }
    if (!is_url(&now, want->url))
        state_differs(run, "remote URL mismatch in %s: got \"%s\", want \"%s\"", want->path,
                      now.url ? now.url : "", want->url);
    if (is_commit_checked_out(run, args, &now, &there, err) < 0)
        return -1;
    if (!there)
        state_differs(run, "%s needs checkout to %s (HEAD: %.12s)", want->path, want->rev,
                      now.head ? now.head : "none");
    else if (now.branch)
        state_differs(run, "%s is on branch %s", want->path, now.branch);
    if (!run->differs)
        state_say(run, "%s is detached at %s", want->path, want->rev);
    return 0;
}

static int check_out_detached(struct state_run *run, const struct detached_args *args,
                              struct err *err)
{
    const struct repo_args *want = &args->repo;
    const char *commit;

    if (args->hard_reset &&
        repo_git(run, want, want->path, TOOL("reset", "--quiet", "--hard"), NULL, err) < 0)
        return -1;
    if (find_commit(run, want, &commit, err) < 0)
        return -1;
    if (!commit)
        return err_set(err, ERR_NOT_FOUND, "%s has no revision '%s'", want->path, want->rev);
    return repo_git(run, want, want->path,
                    args->force_checkout
                        ? TOOL("checkout", "--quiet", "--force", "--detach", commit)
                        : TOOL("checkout", "--quiet", "--detach", commit),
                    NULL, err);
}

static int check_out_commit(struct state_run *run, const struct detached_args *args,
                            const struct repo *now, struct err *err)
{
    struct repo_args want = args->repo;

    want.force = args->force_clone;
    if (!now->is_repo)
        return repo_clone(run, &want, err);
    if (repo_note(run, now, err) < 0 || repo_set_url(run, &want, now, err) < 0)
        return -1;
    return args->fetch_remote ? repo_fetch(run, &want, err) : 0;
}

static int detached_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct detached_args *detached = args;
    const struct repo_args *want = &detached->repo;
    struct repo now;
    bool there = false;

    if (repo_look(run, want, &now, err) < 0 ||
        (now.is_repo && is_commit_checked_out(run, detached, &now, &there, err) < 0))
        return -1;
    if (now.is_repo && there && !now.branch && is_url(&now, want->url)) {
        state_unchanged(run);
        return 0;
    }
    if (check_out_commit(run, detached, &now, err) < 0 ||
        check_out_detached(run, detached, err) < 0 || repo_update_submodules(run, want, err) < 0)
        return -1;
    buf_clear(&run->text);
    state_say(run, "%s is detached at %s", want->path, want->rev);
    state_detail(run, "path", "%s", want->path);
    state_detail(run, "rev", "%s", want->rev);
    return 0;
}

static int detached_revert(struct state_run *run, const void *args, struct err *err)
{
    return repo_revert(run, &((const struct detached_args *)args)->repo, err);
}

const struct module module_git_detached = {
    .name = "git.detached",
    .summary = "a working copy at one revision, on no branch",
    .example = "name: https://example.org/app.git\ntarget: /srv/app\nrev: v1.2\n",
    .params = detached_params,
    .flags = MODULE_TREE | MODULE_DRY_REVERT,
    .args_size = sizeof(struct detached_args),
    .validate = detached_validate,
    .check = detached_check,
    .apply = detached_apply,
    .revert = detached_revert,
};
