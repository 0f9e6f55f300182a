#include "states/modules/git/config.h"

#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/git/repo.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/account.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"
#include "states/undo/change.h"

int config_validate(const struct config_args *args, const struct value *where, struct diags *diags)
{
    int result = validate_text("user", args->user, VALIDATE_USER, where, diags);

    if (validate_text("name", args->name, VALIDATE_ARGUMENT, where, diags) < 0)
        result = -1;
    if (args->global == (args->repo != NULL)) {
        result = value_diag(diags, where, "set either 'repo' or 'global'");
        diag_hint(diags, "'repo' is the path of a repository, 'global: true' is for the user");
    }
    return result;
}

static struct repo_args get_config_repo(const struct git_config *config)
{
    return (struct repo_args){ .path = config->repo, .user = config->args->user };
}

/* With the words before those for the file, which `git config` takes in this order. */
static int run_git_config(struct state_run *run, const struct git_config *config,
                          const char *const *words, struct process_result *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct repo_args repo = get_config_repo(config);
    struct tool_words all = { 0 };

    tool_add(&tool, &all, "config");
    tool_add(&tool, &all, "--file");
    tool_add(&tool, &all, config->path);
    for (; *words; words++)
        tool_add(&tool, &all, *words);
    return repo_try(run, &repo, config->repo, tool_argv(&tool, &all), ret, err);
}

int config_git(struct state_run *run, const struct git_config *config, const char *const *words,
               struct err *err)
{
    struct process_result result;

    if (run_git_config(run, config, words, &result, err) < 0)
        return -1;
    return process_status_ok(result.status) ? 0 : tool_fail(TOOL("git", "config"), &result, err);
}

/* "key\nvalue" with a NUL after each; a key without a value has no line end. */
static void read_config_pairs(struct state_run *run, struct str text, struct git_config *config)
{
    while (text.n > 0) {
        struct str value = str_cut(&text, '\0');
        const struct str key = str_cut(&value, '\n');
        const struct config_pair pair = { arena_str(run->arena, key).p,
                                          value.p ? arena_str(run->arena, value) : STR("true") };

        VEC_PUSH_IN(run->arena, &config->pairs, pair);
    }
}

static int find_repo_file(struct state_run *run, const char *repo, const char **ret,
                          struct err *err)
{
    struct repo_args args = { .path = repo };
    struct str said;

    if (repo_git(run, &args, repo, TOOL("rev-parse", "--git-path", "config"), &said, err) < 0)
        return err_wrap(err, "%s is not a repository", repo);
    *ret = path_join(run->arena, repo, arena_str(run->arena, said).p);
    return 0;
}

static int find_user_file(struct state_run *run, const char *user, const char **ret,
                          struct err *err)
{
    const struct account *account;

    if ((user ? account_find(run->arena, user, &account, err)
              : account_find_uid(run->arena, geteuid(), &account, err)) < 0)
        return -1;
    if (!account)
        return err_set(err, ERR_NOT_FOUND, "no user '%s'", user ? user : "of this process");
    *ret = path_join(run->arena, account->home, ".gitconfig");
    return 0;
}

int config_open(struct state_run *run, const struct config_args *args, struct git_config *ret,
                struct err *err)
{
    struct process_result result;
    struct fs_info info;

    *ret = (struct git_config){ .args = args, .repo = args->repo };
    if ((args->repo ? find_repo_file(run, args->repo, &ret->path, err)
                    : find_user_file(run, args->user, &ret->path, err)) < 0 ||
        fs_stat(ret->path, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return 0;
    if (run_git_config(run, ret, TOOL("--null", "--list"), &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return tool_fail(TOOL("git", "config"), &result, err);
    read_config_pairs(run, result.out, ret);
    return 0;
}

int config_keep(struct state_run *run, const struct git_config *config, struct err *err)
{
    return change_save(run, config->path, err);
}
