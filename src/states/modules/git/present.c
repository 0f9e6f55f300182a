/* git.present - a repository, made empty when there is none. */
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/git/repo.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct present_args

struct present_args {
    const char *name, *user, *template, *shared;
    bool bare, force;
};

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", PATH, ARGS, name, "where the repository is", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("bare", BOOL, ARGS, bare, "without a working copy", .default_text = "true"),
    PARAM("force", BOOL, ARGS, force, "replace a folder that is not a repository"),
    PARAM("template", PATH, ARGS, template, "template folder of a new repository"),
    PARAM("shared", STR, ARGS, shared, "write access: group, all, or permissions such as 0660", .flags = PARAM_FILLED),
    PARAM("user", STR, ARGS, user, "user that runs git and owns new files", .aliases = "runas"),
    PARAM_REFUSED("separate_git_dir", "a repository is in one folder; make a bare one, and clone it"),
    PARAM_IDLE("password", "Windows only"),
    PARAM_IDLE("output_encoding", "the output of git is not converted"),
    { 0 },
};
/* clang-format on */

static struct repo_args get_present_repo(const struct present_args *want)
{
    return (struct repo_args){
        .path = want->name,
        .user = want->user,
        .remote = "origin",
        .bare = want->bare,
        .force = want->force,
    };
}

static int present_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct present_args *want = args;
    const struct repo_args repo = get_present_repo(want);
    int result = repo_validate(&repo, where, diags);

    if (validate_text("shared", want->shared, VALIDATE_WORD, where, diags) < 0)
        result = -1;
    return result;
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const struct repo_args repo = get_present_repo(want);
    struct repo now;

    if (repo_look(run, &repo, &now, err) < 0)
        return -1;
    if (now.is_repo)
        return 0;
    state_differs(run, now.exists ? "%s is not a %srepository" : "%s: the %srepository is missing",
                  want->name, want->bare ? "bare " : "");
    state_made(run, "made the repository %s", want->name);
    return 0;
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const struct repo_args repo = get_present_repo(want);
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };
    struct repo now;

    if (repo_look(run, &repo, &now, err) < 0)
        return -1;
    if (now.is_repo) {
        state_unchanged(run);
        return 0;
    }
    tool_add(&tool, &words, "init");
    tool_add(&tool, &words, "--quiet");
    if (want->bare)
        tool_add(&tool, &words, "--bare");
    if (want->template)
        tool_add(&tool, &words, arena_printf(run->arena, "--template=%s", want->template));
    if (want->shared)
        tool_add(&tool, &words, arena_printf(run->arena, "--shared=%s", want->shared));
    tool_add(&tool, &words, "--");
    tool_add(&tool, &words, want->name);
    if (repo_make(run, &repo, tool_argv(&tool, &words), err) < 0)
        return -1;
    state_detail(run, "path", "%s", want->name);
    return 0;
}

static int present_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct repo_args repo = get_present_repo(args);

    return repo_revert(run, &repo, err);
}

const struct module module_git_present = {
    .name = "git.present",
    .summary = "a repository, made empty when there is none",
    .example = "name: /srv/git/app.git\n",
    .params = present_params,
    .flags = MODULE_TREE | MODULE_DRY_REVERT,
    .args_size = sizeof(struct present_args),
    .validate = present_validate,
    .check = present_check,
    .apply = present_apply,
    .revert = present_revert,
};
