/* git.cloned - clones a repository. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/git/repo.h"
#include "states/state/module.h"

#define ARGS struct cloned_args

struct cloned_args {
    struct repo_args repo;
    const char *name, *target, *url;
};

/* clang-format off */
static const struct param cloned_params[] = {
    PARAM("name", STR, ARGS, name, "the working copy; with 'target' the repository, as in Salt", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("url", STR, ARGS, url, "the repository", .flags = PARAM_FILLED, .aliases = "source"),
    PARAM("target", PATH, ARGS, target, "the working copy, if the name is the repository"),
    PARAM("force", BOOL, ARGS, repo.force, "replace the contents of the folder; drop changes to tracked files"),
    REPO_PARAMS(ARGS, repo),
    PARAM_IDLE("password", "Windows only"),
    PARAM_IDLE("output_encoding", "the output of git is not converted"),
    { 0 },
};
/* clang-format on */

/* The name is the path or, with `target`, the repository. */
static struct repo_args get_cloned_repo(const struct cloned_args *args)
{
    struct repo_args repo = args->repo;

    repo.path = args->target ? args->target : args->name;
    repo.url = args->target && !args->url ? args->name : args->url;
    return repo;
}

static int cloned_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct repo_args want = get_cloned_repo(args);

    if (!want.url)
        return value_diag(diags, where, "git.cloned requires 'url'");
    if (want.path[0] != '/')
        return value_diag(diags, value_point(where, "name"),
                          "'name' must be a path that begins with '/', got '%s'", want.path);
    return repo_validate(&want, where, diags);
}

static const char *choose_rev(const struct repo_args *want)
{
    return want->rev ? want->rev : want->branch;
}

/* Being on the branch is enough: git.latest is the state that follows it. */
static int is_cloned(struct state_run *run, const struct repo_args *want, const struct repo *now,
                     bool *ret, struct err *err)
{
    const char *name = choose_rev(want);

    *ret = true;
    if (!name)
        return 0;
    if (!want->rev && now->branch && strcmp(now->branch, name) == 0)
        return 0;
    return repo_is_at(run, want, now, name, ret, err);
}

static int cloned_check(struct state_run *run, const void *args, struct err *err)
{
    const struct repo_args repo = get_cloned_repo(args), *want = &repo;
    struct repo now;
    bool there = true;

    if (repo_look(run, want, &now, err) < 0)
        return -1;
    if (!now.is_repo) {
        state_differs(run, now.exists ? "%s is not a working copy" : "directory %s does not exist",
                      want->path);
        return 0;
    }
    if (!now.url || strcmp(now.url, want->url) != 0)
        state_differs(run, "remote URL mismatch: got \"%s\", want \"%s\"", now.url ? now.url : "",
                      want->url);
    if (is_cloned(run, want, &now, &there, err) < 0)
        return -1;
    if (!there)
        state_differs(run, "%s needs checkout to %s (HEAD: %.12s)", want->path, choose_rev(want),
                      now.head ? now.head : "none");
    if (!run->differs && want->rev)
        state_say(run, "%s is at rev %s", want->path, want->rev);
    else if (!run->differs && want->branch)
        state_say(run, "%s is on branch %s", want->path, want->branch);
    else if (!run->differs)
        state_say(run, "%s is cloned from %s", want->path, want->url);
    return 0;
}

static int move_copy(struct state_run *run, const struct repo_args *want, bool fresh,
                     struct err *err)
{
    if (!choose_rev(want) || (fresh && !want->rev))
        return 0;
    if (want->force && !fresh &&
        repo_git(run, want, want->path, TOOL("reset", "--quiet", "--hard", "HEAD"), NULL, err) < 0)
        return -1;
    if (fresh && want->rev)
        return repo_check_out_rev(run, want, err);
    if (repo_fetch(run, want, err) < 0)
        return -1;
    return repo_git(run, want, want->path, TOOL("checkout", "--quiet", choose_rev(want), "--"),
                    NULL, err);
}

static int cloned_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct repo_args repo = get_cloned_repo(args), *want = &repo;
    struct repo now;
    bool there = false;

    if (repo_look(run, want, &now, err) < 0)
        return -1;
    if (now.is_repo && is_cloned(run, want, &now, &there, err) < 0)
        return -1;
    if (now.is_repo && there && now.url && strcmp(now.url, want->url) == 0) {
        state_unchanged(run);
        return 0;
    }
    if (now.is_repo ? repo_note(run, &now, err) < 0 || repo_set_url(run, want, &now, err) < 0
                    : repo_clone(run, want, err) < 0)
        return -1;
    if (!there && move_copy(run, want, !now.is_repo, err) < 0)
        return -1;
    if (repo_update_submodules(run, want, err) < 0)
        return -1;
    buf_clear(&run->text);
    state_say(run, "cloned %s to %s%s%s", want->url, want->path,
              choose_rev(want) ? " and checked out " : "",
              choose_rev(want) ? choose_rev(want) : "");
    state_detail(run, "path", "%s", want->path);
    state_detail(run, "url", "%s", want->url);
    return 0;
}

static int cloned_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct repo_args repo = get_cloned_repo(args);

    return repo_revert(run, &repo, err);
}

const struct module module_git_cloned = {
    .name = "git.cloned",
    .summary = "clone a repository",
    .details = "An existing working copy only moves to reach `rev` or `branch`; git.latest follows "
               "the repository. A revert removes the clone that was made.",
    .example = "name: /srv/app\nurl: https://git.example.org/app.git\nbranch: main\n",
    .params = cloned_params,
    .flags = MODULE_TREE | MODULE_DRY_REVERT,
    .args_size = sizeof(struct cloned_args),
    .validate = cloned_validate,
    .check = cloned_check,
    .apply = cloned_apply,
    .revert = cloned_revert,
};
