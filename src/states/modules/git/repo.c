#include "states/modules/git/repo.h"

#include <string.h>
#include <unistd.h>

#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/git/guard.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/account.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"
#include "core/sys/site.h"
#include "core/sys/tree.h"

#define HEX_MIN 7
#define HEADS   "refs/heads/"

int repo_validate(const struct repo_args *args, const struct value *where, struct diags *diags)
{
    const struct {
        const char *key, *text;
    } words[] = { { "url", args->url },
                  { "branch", args->branch },
                  { "rev", args->rev },
                  { "remote", args->remote } };
    int result = validate_text("user", args->user, VALIDATE_USER, where, diags);

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (validate_text(words[i].key, words[i].text, VALIDATE_ARGUMENT, where, diags) < 0)
            result = -1;
    if (validate_text("https_user", args->https_user, VALIDATE_LINE, where, diags) < 0 ||
        validate_text("https_pass", args->https_pass, VALIDATE_LINE, where, diags) < 0)
        result = -1;
    if (args->https_pass && !args->https_user)
        result = value_diag(diags, value_point(where, "https_pass"),
                            "'https_pass' requires 'https_user'");
    if (args->url && str_starts(str_from(args->url), STR("ext::")))
        result = value_diag(diags, value_point(where, "url"), "'url' must not run a command");
    if (args->identity && strpbrk(args->identity, "'\n"))
        result =
            value_diag(diags, value_point(where, "identity"), "'identity' must not contain quotes");
    return result;
}

/* --- git ----------------------------------------------------------------------------------- */

/* The password is only in the environment of git: not in its arguments, not in a file. Other
 * helpers are disabled: they would be asked first, and would see the password. */
static void add_credentials(struct guard_env *env, const struct repo_args *args)
{
    const struct tool *tool = env->tool;

    if (!args->https_user)
        return;
    guard_set(env, STR("credential.helper"), STR(""));
    guard_set(env, STR("credential.helper"),
              STR("!f() { echo \"username=$ZESTER_GIT_USER\"; "
                  "echo \"password=$ZESTER_GIT_PASS\"; }; f"));
    tool_add(tool, &env->words, arena_printf(tool->arena, "ZESTER_GIT_USER=%s", args->https_user));
    tool_add(
        tool, &env->words,
        arena_printf(tool->arena, "ZESTER_GIT_PASS=%s", args->https_pass ? args->https_pass : ""));
}

static int run_git_in_repo(struct state_run *run, const struct repo_args *args,
                           const struct guard_user *user, const char *path,
                           const char *const *words, struct process_result *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *ssh =
        args->identity
            ? arena_printf(run->arena,
                           "GIT_SSH_COMMAND=ssh -o BatchMode=yes -o IdentitiesOnly=yes -i '%s'",
                           args->identity)
            : "GIT_SSH_COMMAND=ssh -o BatchMode=yes";
    struct tool_options options = { .account = user->account, .cwd = path ? path : "/" };
    struct tool_words all = { 0 };
    struct guard_env env;

    if (guard_start(&tool, user, path, &env, err) < 0)
        return -1;
    tool_add(&tool, &env.words, ssh);
    add_credentials(&env, args);
    options.env = guard_env(&env);

    tool_add(&tool, &all, "git");
    tool_add(&tool, &all, *words);
    if (strcmp(*words++, "fetch") == 0) /* otherwise git would run remote.NAME.uploadpack of the
                                         * copy */
        tool_add(&tool, &all, "--upload-pack=git-upload-pack");
    for (; *words; words++)
        tool_add(&tool, &all, *words);
    return tool_try(&tool, tool_argv(&tool, &all), &options, ret, err);
}

int repo_try(struct state_run *run, const struct repo_args *args, const char *path,
             const char *const *words, struct process_result *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct guard_user user;

    if (guard_choose_user(&tool, args->user, args->path, &user, err) < 0)
        return -1;
    return run_git_in_repo(run, args, &user, path, words, ret, err);
}

/* "git clone: as 'root', git does not read '/srv/app/.git' of 'alice' ...". The path is from the
 * output of git, which refuses it, whatever files say of safe.directory (guard.h). */
static int refuse_foreign_owner(struct state_run *run, const struct repo_args *args,
                                const char *word, struct str path, struct err *err)
{
    const char *folder = arena_str(run->arena, path).p, *us = args->user ? args->user : "root";
    const struct account *owner, *own;
    struct fs_info info;

    if (fs_stat(folder, &info, err) < 0 ||
        account_find_uid(run->arena, info.uid, &owner, err) < 0 ||
        account_find_uid(run->arena, geteuid(), &own, err) < 0)
        return err_wrap(err, "git %s: it belongs to somebody else", word);
    if (!args->user && own)
        us = own->name;
    return err_set(err, ERR_UNSAFE,
                   "git %s: '%s' belongs to '%s', whose settings could make git run programs as "
                   "'%s'; give the state 'user: %s', or chown the repository to '%s'",
                   word, folder, owner ? owner->name : "an unknown user", us,
                   owner ? owner->name : "OWNER", us);
}

/* Describes the failure of a git command. */
static int fail_git(struct state_run *run, const struct repo_args *args, const char *word,
                    const struct process_result *result, struct err *err)
{
    const struct str mark = STR("dubious ownership in repository at '");
    const size_t at = str_find(result->err, mark, 0);
    struct str path;

    if (at == STR_NONE)
        return tool_fail(TOOL("git", word), result, err);
    path = str_from_offset(result->err, at + mark.n);
    return refuse_foreign_owner(run, args, word, str_cut(&path, '\''), err);
}

int repo_git(struct state_run *run, const struct repo_args *args, const char *path,
             const char *const *words, struct str *ret, struct err *err)
{
    struct process_result result;

    if (repo_try(run, args, path, words, &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return fail_git(run, args, words[0], &result, err);
    if (ret)
        *ret = arena_str(run->arena, str_trim(result.out));
    return 0;
}

/* The output of git, or NULL when it fails. */
static int query_git(struct state_run *run, const struct repo_args *args, const char *const *words,
                     const char **ret, struct err *err)
{
    struct process_result result;

    if (repo_try(run, args, args->path, words, &result, err) < 0)
        return -1;
    *ret = process_status_ok(result.status) && str_trim(result.out).n > 0
               ? arena_str(run->arena, str_trim(result.out)).p
               : NULL;
    return 0;
}

/* --- checking -------------------------------------------------------------------------------- */

static bool is_repo_bare(const struct repo_args *args)
{
    return args->bare || args->mirror;
}

/* Is this folder itself a repository, not one of its parents? */
static int find_repo(struct state_run *run, const struct repo_args *args, bool *ret_is_repo,
                     struct err *err)
{
    const char *inside = path_join(run->arena, args->path, is_repo_bare(args) ? "HEAD" : ".git");
    const char *said;
    struct fs_info info;

    if (fs_stat(inside, &info, err) < 0)
        return -1;
    *ret_is_repo = info.kind != FS_NONE;
    if (!*ret_is_repo || !is_repo_bare(args))
        return 0;
    if (query_git(run, args, TOOL("rev-parse", "--is-bare-repository", "--git-dir"), &said, err) <
        0)
        return -1;
    *ret_is_repo = said && strcmp(said, "true\n.") == 0;
    return 0;
}

int repo_look(struct state_run *run, const struct repo_args *args, struct repo *ret,
              struct err *err)
{
    const char *head;
    struct fs_info info;

    *ret = (struct repo){ 0 };
    if (fs_stat(args->path, &info, err) < 0 || find_repo(run, args, &ret->is_repo, err) < 0)
        return -1;
    ret->exists = info.kind != FS_NONE;
    if (!ret->is_repo)
        return 0;
    if (query_git(run, args,
                  TOOL("config", "--get", arena_printf(run->arena, "remote.%s.url", args->remote)),
                  &ret->url, err) < 0 ||
        query_git(run, args, TOOL("rev-parse", "--verify", "--quiet", "HEAD^{commit}"), &ret->head,
                  err) < 0)
        return -1;
    /* with --short a branch that has the name of a tag becomes "heads/NAME" */
    if (query_git(run, args, TOOL("symbolic-ref", "--quiet", "HEAD"), &head, err) < 0)
        return -1;
    if (head && str_starts(str_from(head), STR(HEADS)))
        ret->branch = head + strlen(HEADS);
    return 0;
}

int repo_resolve(struct state_run *run, const struct repo_args *args, const char *name,
                 const char **ret_commit, struct err *err)
{
    return query_git(
        run, args,
        TOOL("rev-parse", "--verify", "--quiet", arena_printf(run->arena, "%s^{commit}", name)),
        ret_commit, err);
}

bool repo_is_hex(const char *text)
{
    return strlen(text) >= HEX_MIN && text[strspn(text, "0123456789abcdef")] == '\0';
}

int repo_is_at(struct state_run *run, const struct repo_args *args, const struct repo *now,
               const char *rev, bool *ret, struct err *err)
{
    const char *commit;

    *ret = false;
    if (!now->head)
        return 0;
    if (repo_is_hex(rev) && strncmp(now->head, rev, strlen(rev)) == 0) {
        *ret = true;
        return 0;
    }
    if (repo_resolve(run, args, rev, &commit, err) < 0)
        return -1;
    if (!commit &&
        repo_resolve(run, args, arena_printf(run->arena, "refs/remotes/%s/%s", args->remote, rev),
                     &commit, err) < 0)
        return -1;
    *ret = commit && strcmp(commit, now->head) == 0;
    return 0;
}

/* --- changing -------------------------------------------------------------------------------- */

static int chown_folder(struct state_run *run, const char *path, const struct account *account,
                        struct err *err)
{
    struct change_attr attr = CHANGE_KEEP;

    if (!account)
        return 0;
    attr.uid = account->uid;
    attr.gid = account->gid;
    return change_attr(run, path, &attr, err);
}

static int make_repo_folder(struct state_run *run, const struct repo_args *args,
                            const struct account *account, struct err *err)
{
    const struct change_attr attr = CHANGE_KEEP;
    struct fs_names names = { 0 };
    struct fs_info info;

    if (fs_stat(args->path, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE) {
        if (change_make_parents(run, args->path, err) < 0 ||
            change_mkdir(run, args->path, &attr, err) < 0)
            return -1;
        return chown_folder(run, args->path, account, err);
    }
    if (info.kind != FS_FOLDER)
        return err_set(err, ERR_INVALID, "'%s' is a %s, not a folder", args->path,
                       fs_kind_name(info.kind));
    if (fs_list(run->arena, args->path, &names, err) < 0)
        return -1;
    if (names.list.n == 0)
        return 0;
    if (!args->force)
        return err_set(err, ERR_INVALID,
                       "'%s' is not a %s and not empty; set force: true to replace it", args->path,
                       is_repo_bare(args) ? "bare repository" : "working copy");
    VEC_EACH (&names.list, name)
        if (change_remove(run, path_join(run->arena, args->path, *name), err) < 0)
            return -1;
    return 0;
}

static void remove_empty_repo(const char *path)
{
    AUTO_SITE struct site site = SITE_INIT;
    struct err ignored; /* the first error is the one to report */

    if (site_walk(&site, path, 0, &ignored) == 0)
        (void)site_rmdir(&site, &ignored);
}

int repo_make(struct state_run *run, const struct repo_args *args, const char *const *words,
              struct err *err)
{
    const struct tool tool = run_tool(run);
    struct process_result result;
    struct guard_user user;
    struct fs_info before;

    if (guard_choose_maker(&tool, args->user, args->path, &user, err) < 0 ||
        fs_lstat(args->path, &before, err) < 0 ||
        make_repo_folder(run, args, user.account, err) < 0 ||
        state_note(run, "cloned", value_bool(true), err) < 0)
        return -1;
    if (run_git_in_repo(run, args, &user, NULL, words, &result, err) == 0 &&
        (process_status_ok(result.status) || fail_git(run, args, words[0], &result, err) == 0))
        return 0;
    if (before.kind == FS_NONE)
        remove_empty_repo(args->path); /* git emptied it */
    return -1;
}

int repo_clone(struct state_run *run, const struct repo_args *args, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    tool_add(&tool, &words, "clone");
    tool_add(&tool, &words, "--quiet");
    if (is_repo_bare(args))
        tool_add(&tool, &words, args->mirror ? "--mirror" : "--bare");
    tool_add(&tool, &words, "--origin");
    tool_add(&tool, &words, args->remote);
    if (args->depth > 0) {
        tool_add(&tool, &words, "--depth");
        tool_add(&tool, &words, arena_printf(run->arena, "%lld", (long long)args->depth));
    }
    if (args->branch && !args->rev) {
        tool_add(&tool, &words, "--branch");
        tool_add(&tool, &words, args->branch);
    }
    if (args->submodules)
        tool_add(&tool, &words, "--recurse-submodules");
    tool_add(&tool, &words, "--");
    tool_add(&tool, &words, args->url);
    tool_add(&tool, &words, args->path);
    return repo_make(run, args, tool_argv(&tool, &words), err);
}

int repo_check_out_rev(struct state_run *run, const struct repo_args *args, struct err *err)
{
    const char *depth = arena_printf(run->arena, "%lld", (long long)args->depth), *commit = NULL;

    if (args->depth > 0 && repo_resolve(run, args, args->rev, &commit, err) < 0)
        return -1;
    if (args->depth == 0 || commit)
        return repo_git(run, args, args->path, TOOL("checkout", "--quiet", args->rev, "--"), NULL,
                        err);
    /* a shallow clone may not have it */
    if (repo_git(run, args, args->path,
                 TOOL("fetch", "--quiet", "--depth", depth, args->remote, args->rev), NULL,
                 err) < 0)
        return err_wrap(err, "%s is not in the last %s commits", args->rev, depth);
    return repo_git(run, args, args->path, TOOL("checkout", "--quiet", "--detach", "FETCH_HEAD"),
                    NULL, err);
}

int repo_set_url(struct state_run *run, const struct repo_args *args, const struct repo *now,
                 struct err *err)
{
    if (now->url && strcmp(now->url, args->url) == 0)
        return 0;
    return repo_git(run, args, args->path,
                    TOOL("remote", now->url ? "set-url" : "add", args->remote, args->url), NULL,
                    err);
}

static int is_repo_known(struct state_run *run, const struct repo_args *args, const char *name,
                         bool *ret_known, struct err *err)
{
    const char *commit;

    if (repo_resolve(run, args, name, &commit, err) < 0 ||
        (!commit &&
         repo_resolve(run, args, arena_printf(run->arena, "refs/remotes/%s/%s", args->remote, name),
                      &commit, err) < 0))
        return -1;
    *ret_known = commit != NULL;
    return 0;
}

/* A shallow clone tracks one branch only, so add the other one. */
static int track_branch(struct state_run *run, const struct repo_args *args, const char *name,
                        struct err *err)
{
    const char *depth = arena_printf(run->arena, "--depth=%lld", (long long)args->depth);
    const char *branch =
        arena_printf(run->arena, "+refs/heads/%s:refs/remotes/%s/%s", name, args->remote, name);
    struct process_result result;

    if (repo_try(run, args, args->path,
                 args->depth > 0 ? TOOL("fetch", "--quiet", depth, args->remote, branch)
                                 : TOOL("fetch", "--quiet", args->remote, branch),
                 &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return err_set(err, ERR_NOT_FOUND, "%s has no branch, tag or commit '%s'", args->url, name);
    return repo_git(run, args, args->path,
                    TOOL("remote", "set-branches", "--add", args->remote, name), NULL, err);
}

int repo_fetch(struct state_run *run, const struct repo_args *args, struct err *err)
{
    const char *name = args->rev ? args->rev : args->branch;
    bool known = true;

    if (repo_git(run, args, args->path,
                 args->no_tags ? TOOL("fetch", "--quiet", "--force", args->remote)
                               : TOOL("fetch", "--quiet", "--tags", "--force", args->remote),
                 NULL, err) < 0 ||
        (name && is_repo_known(run, args, name, &known, err) < 0))
        return -1;
    return known ? 0 : track_branch(run, args, name, err);
}

int repo_update_submodules(struct state_run *run, const struct repo_args *args, struct err *err)
{
    if (!args->submodules)
        return 0;
    return repo_git(run, args, args->path,
                    TOOL("submodule", "update", "--quiet", "--init", "--recursive"), NULL, err);
}

/* --- revert ------------------------------------------------------------------------------ */

int repo_note(struct state_run *run, const struct repo *now, struct err *err)
{
    struct value_map *was = value_map_new(run->arena, 3);

    value_map_set(run->arena, was, value_text("url"),
                  now->url ? value_text(now->url) : value_null());
    value_map_set(run->arena, was, value_text("head"),
                  now->head ? value_text(now->head) : value_null());
    value_map_set(run->arena, was, value_text("branch"),
                  now->branch ? value_text(now->branch) : value_null());
    return state_note(run, "was", value_map(was), err);
}

static int remove_below(const char *path, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    return site_walk(&site, path, SITE_RETURN, err) < 0 ? -1 : tree_remove_at(&site, err);
}

/* The folder itself has a before-image. A failed clone left nothing: what exists now is not
 * ours. */
static int remove_clone(struct state_run *run, const struct repo_args *args, struct err *err)
{
    struct fs_names names = { 0 };
    bool is_repo;

    if (find_repo(run, args, &is_repo, err) < 0)
        return -1;
    if (!is_repo) {
        state_unchanged(run);
        return 0;
    }
    if (run->test) {
        run->destroys = true;
        state_say(run, "would remove the clone %s, with all that is in it", args->path);
        return 0;
    }
    if (fs_list(run->arena, args->path, &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        if (remove_below(path_join(run->arena, args->path, *name), err) < 0)
            return -1;
    state_say(run, "removed the clone %s (revert)", args->path);
    return 0;
}

int repo_restore_url(struct state_run *run, const struct repo_args *args, struct err *err)
{
    const struct value *was = state_noted(run, "was");
    const char *url = was && was->kind == VALUE_MAP ? value_get_text(was, "url") : NULL;

    if (!url)
        return 0;
    return repo_git(run, args, args->path, TOOL("remote", "set-url", args->remote, url), NULL, err);
}

static int reset_copy(struct state_run *run, const struct repo_args *args, const struct value *was,
                      struct err *err)
{
    const char *head = value_get_text(was, "head"), *branch = value_get_text(was, "branch");

    if (run->test) {
        if (head)
            state_say(run, "would reset %s to %.12s", args->path, head);
        else
            state_say(run, "would restore the remote of %s", args->path);
        return 0;
    }
    if (repo_restore_url(run, args, err) < 0)
        return -1;
    if (!head)
        return 0;
    if (branch ? repo_git(run, args, args->path, TOOL("checkout", "--quiet", "-B", branch, head),
                          NULL, err) < 0
               : repo_git(run, args, args->path, TOOL("checkout", "--quiet", "--detach", head),
                          NULL, err) < 0)
        return -1;
    state_say(run, "reset %s to %.12s (revert)", args->path, head);
    return 0;
}

int repo_revert(struct state_run *run, const struct repo_args *args, struct err *err)
{
    const struct value *was = state_noted(run, "was");

    if (state_noted(run, "cloned"))
        return remove_clone(run, args, err);
    if (was && was->kind == VALUE_MAP)
        return reset_copy(run, args, was, err);
    state_unchanged(run);
    return 0;
}
