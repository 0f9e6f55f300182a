/* git.revision - returns the commit of a working copy. */
#include "states/modules/cmd/run_tool.h"
#include "states/modules/git/repo.h"
#include "states/state/module.h"

#define ARGS struct revision_args

struct revision_args {
    const char *cwd, *rev, *user;
    bool brief;
};

/* clang-format off */
static const struct param revision_params[] = {
    PARAM("cwd", PATH, ARGS, cwd, "the working copy", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name,path"),
    PARAM("rev", STR, ARGS, rev, "commit, tag or branch", .flags = PARAM_FILLED, .default_text = "HEAD"),
    PARAM("short", BOOL, ARGS, brief, "abbreviate the commit"),
    PARAM("user", STR, ARGS, user, "the user that runs git", .aliases = "runas"),
    { 0 },
};
/* clang-format on */

static int revision_call(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    const struct revision_args *want = args;
    const struct repo_args repo = { .path = want->cwd, .user = want->user };
    const char *rev = arena_printf(run->arena, "%s^{commit}", want->rev);
    struct str commit;

    if (repo_git(run, &repo, want->cwd,
                 want->brief ? TOOL("rev-parse", "--short", "--verify", "--end-of-options", rev)
                             : TOOL("rev-parse", "--verify", "--end-of-options", rev),
                 &commit, err) < 0)
        return -1;
    *ret = value_str(commit);
    return 0;
}

const struct module module_git_revision = {
    .name = "git.revision",
    .summary = "the current commit of a working copy",
    .params = revision_params,
    .args_size = sizeof(struct revision_args),
    .call = revision_call,
};
