#include "states/modules/git/guard.h"

#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "states/provider/tool.h"
#include "core/sys/account.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define MODULES_MAX   256
#define MODULES_DEPTH 32

/* --- user ---------------------------------------------------------------------------------- */

/* IDs without a name own files too. */
static int find_owner_account(const struct tool *tool, const struct fs_info *info,
                              const struct account **ret, struct err *err)
{
    struct account *unnamed;

    if (account_find_uid(tool->arena, info->uid, ret, err) < 0)
        return -1;
    if (*ret)
        return 0;
    unnamed = ARENA_NEW(tool->arena, struct account);
    *unnamed = (struct account){ .name = arena_printf(tool->arena, "%u", info->uid),
                                 .uid = info->uid,
                                 .gid = info->gid,
                                 .full_name = "",
                                 .home = "/",
                                 .shell = "" };
    *ret = unnamed;
    return 0;
}

static int find_named_account(const struct tool *tool, const char *name, const struct account **ret,
                              struct err *err)
{
    *ret = NULL;
    if (!name)
        return 0;
    if (account_find(tool->arena, name, ret, err) < 0)
        return -1;
    return *ret ? 0 : err_set(err, ERR_NOT_FOUND, "user '%s' does not exist", name);
}

/* `owner` controls `path`. */
static int choose_user(const struct tool *tool, const struct account *named, const char *path,
                       const struct fs_info *owner, struct guard_user *ret, struct err *err)
{
    const uid_t uid = named ? named->uid : geteuid();

    *ret = (struct guard_user){ .account = named };
    if (owner->kind == FS_NONE || owner->uid == uid)
        return 0;
    if (owner->uid == 0) {
        ret->trusted = true;
        return 0;
    }
    if (!named && geteuid() == 0)
        return find_owner_account(tool, owner, &ret->account, err);
    return err_set(err, ERR_INVALID,
                   "'%s' is controlled by user %s: refusing to run git there as %s", path,
                   account_describe(tool->arena, owner->uid), account_describe(tool->arena, uid));
}

int guard_choose_user(const struct tool *tool, const char *name, const char *path,
                      struct guard_user *ret_user, struct err *err)
{
    struct fs_info info = { .kind = FS_NONE };
    const struct account *named;

    if (find_named_account(tool, name, &named, err) < 0 || (path && fs_stat(path, &info, err) < 0))
        return -1;
    return choose_user(tool, named, path, &info, ret_user, err);
}

/* The first folder on the way to `path` that is not owned by root, else the last existing one. */
static int walk_owners(const struct tool *tool, const char *path, struct fs_info *ret,
                       struct err *err)
{
    struct fs_info info;

    *ret = (struct fs_info){ .kind = FS_NONE };
    for (const char *end = path; end;) {
        end = strchr(end + 1, '/');

        const char *part = end ? arena_strndup(tool->arena, path, (size_t)(end - path)) : path;

        if (fs_lstat(part, &info, err) < 0)
            return -1;
        if (info.kind == FS_NONE)
            return 0;
        *ret = info;
        if (info.uid != 0)
            return 0;
    }
    return 0;
}

int guard_choose_maker(const struct tool *tool, const char *name, const char *path,
                       struct guard_user *ret_user, struct err *err)
{
    const struct account *named;
    struct fs_info owner = { .kind = FS_NONE };

    if (find_named_account(tool, name, &named, err) < 0)
        return -1;
    if ((named ? named->uid : geteuid()) == 0) {
        if (walk_owners(tool, path, &owner, err) < 0)
            return -1;
        return choose_user(tool, named, path, &owner, ret_user, err);
    }
    *ret_user = (struct guard_user){ .account = named };
    return 0;
}

/* --- configuration ------------------------------------------------------------------------- */

/* With SUDO_UID, git run by root trusts the copies of that user. */
static const char *const fixed_env[] = {
    "GIT_TERMINAL_PROMPT=0",     "GIT_PAGER=cat",          "GIT_EDITOR=false",
    "GIT_SEQUENCE_EDITOR=false", "GIT_CONFIG_PARAMETERS=", "SUDO_UID=",
};

/* Off in all scopes. An empty safe.directory resets the list from files. */
static const char *const fixed_settings[][2] = {
    { "core.hooksPath", "/dev/null" },
    { "core.fsmonitor", "false" },
    { "core.pager", "cat" },
    { "core.editor", "false" },
    { "protocol.ext.allow", "never" },
    { "protocol.fd.allow", "never" },
    { "submodule.recurse", "false" },
    { "fetch.recurseSubmodules", "false" },
    { "merge.verifySignatures", "false" },
    { "safe.directory", "" },
};

/* Keys whose value is a program, as of git 2.39, with the value that disables them. */
static const struct program_key {
    const char *section, *name; /* "section.name" and "section.ANYTHING.name" */
    const char *none;
    const char *env; /* the first setting wins, not the last */
} programs[] = {
    { "core", "alternaterefscommand", "true", NULL },
    { "core", "askpass", "", NULL },
    { "core", "gitproxy", "none", "GIT_PROXY_COMMAND=" },
    { "credential", "helper", "", NULL },
    { "diff", "command", "", NULL },
    { "diff", "external", "", NULL },
    { "diff", "textconv", "", NULL },
    { "filter", "clean", "", NULL },
    { "filter", "process", "", NULL },
    { "filter", "required", "false", NULL },
    { "filter", "smudge", "", NULL },
    { "gc", "recentobjectshook", "", NULL },
    { "gpg", "defaultkeycommand", "", NULL },
    { "gpg", "program", "false", NULL },
    { "merge", "driver", "false", NULL },
    { "remote", "vcs", "", NULL },
    { "submodule", "update", "checkout", NULL },
};

/* The row of the key; NULL when its value is not a program. */
static const struct program_key *find_guard_program(struct str key)
{
    const char *first = memchr(key.p, '.', key.n), *last = memrchr(key.p, '.', key.n);
    const struct str section = { key.p, first ? (size_t)(first - key.p) : 0 };

    for (size_t i = 0; first && i < ARRAY_LEN(programs); i++)
        if (str_is(section, programs[i].section) &&
            str_is(str_from_offset(key, (size_t)(last + 1 - key.p)), programs[i].name))
            return &programs[i];
    return NULL;
}

void guard_set(struct guard_env *env, struct str key, struct str value)
{
    const struct tool *tool = env->tool;
    const size_t n = env->settings++;

    tool_add(tool, &env->words,
             arena_printf(tool->arena, "GIT_CONFIG_KEY_%zu=%.*s", n, STR_ARG(key)));
    tool_add(tool, &env->words,
             arena_printf(tool->arena, "GIT_CONFIG_VALUE_%zu=%.*s", n, STR_ARG(value)));
}

const char *const *guard_env(struct guard_env *env)
{
    tool_add(env->tool, &env->words,
             arena_printf(env->tool->arena, "GIT_CONFIG_COUNT=%zu", env->settings));
    return tool_argv(env->tool, &env->words);
}

static void set_fixed(struct guard_env *env, const struct guard_user *user, const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(fixed_env); i++)
        tool_add(env->tool, &env->words, fixed_env[i]);
    if (user->account)
        tool_add(env->tool, &env->words, "XDG_CONFIG_HOME=");
    for (size_t i = 0; i < ARRAY_LEN(fixed_settings); i++)
        guard_set(env, str_from(fixed_settings[i][0]), str_from(fixed_settings[i][1]));
    if (user->trusted && path)
        guard_set(env, STR("safe.directory"), str_from(path));
}

/* One setting of a listing with scopes: "scope NUL key LF value NUL". */
struct setting {
    struct str key, value;
    bool of_copy;
};

static bool next_setting(struct str *rest, struct setting *ret)
{
    const struct str scope = rest->p && rest->n > 0 ? str_cut(rest, '\0') : STR("");
    struct str pair;

    if (!rest->p || rest->n == 0)
        return false;
    pair = str_cut(rest, '\0');
    ret->of_copy = str_is(scope, "local") || str_is(scope, "worktree");
    ret->key = str_cut(&pair, '\n');
    ret->value = pair.p ? pair : STR("true");
    return true;
}

/* A later setting wins: disable the programs of the copy, then repeat those of other scopes. */
static void set_programs(struct guard_env *env, struct str listing)
{
    struct str rest = listing;
    const struct program_key *program;
    struct setting setting;
    bool any = false;

    while (next_setting(&rest, &setting)) {
        program = setting.of_copy ? find_guard_program(setting.key) : NULL;
        if (!program)
            continue;
        guard_set(env, setting.key, str_from(program->none));
        if (program->env)
            tool_add(env->tool, &env->words, program->env);
        any = true;
    }
    rest = listing;
    while (any && next_setting(&rest, &setting))
        if (!setting.of_copy && find_guard_program(setting.key))
            guard_set(env, setting.key, setting.value);
}

/* The settings that git has in `folder`. */
static int list_settings(const struct tool *tool, const struct guard_user *user, const char *folder,
                         struct str *ret, struct err *err)
{
    struct guard_env list = { .tool = tool };
    struct tool_options options = { .account = user->account, .cwd = folder };

    set_fixed(&list, user, folder);
    options.env = guard_env(&list);
    return tool_run(tool, TOOL("git", "config", "--list", "--show-scope", "--null"), &options, ret,
                    err);
}

/* Does the copy set section.NAME.name? */
static bool copy_sets(struct str listing, const char *section, const char *name)
{
    struct setting setting;

    while (next_setting(&listing, &setting)) {
        struct str key = setting.key;
        const struct str first = str_cut(&key, '.');
        const char *last = key.p ? memrchr(key.p, '.', key.n) : NULL;
        const struct str rest = last    ? str_from_offset(key, (size_t)(last + 1 - key.p))
                                : key.p ? key
                                        : STR("");

        if (setting.of_copy && str_is(first, section) && str_is(rest, name))
            return true;
    }
    return false;
}

/* git uses the first remote.NAME.uploadpack: it cannot be turned off. */
static int refuse_uploadpack(struct str listing, const char *folder, struct err *err)
{
    if (!copy_sets(listing, "remote", "uploadpack"))
        return 0;
    return err_set(err, ERR_INVALID,
                   "'%s' sets remote.NAME.uploadpack: programs of a working copy are not run",
                   folder);
}

/* --- submodules -------------------------------------------------------------------------- */

/* Git goes into submodules, whose settings are files of their own: GIT_DIR/modules/NAME/config,
 * where a name may have several parts, and a submodule submodules. */
struct survey {
    const struct tool *tool;
    const struct guard_user *user;
    struct guard_env *env;
    size_t count;
};

static int survey_module(struct survey *survey, const char *folder, struct err *err)
{
    struct str listing;

    if (++survey->count > MODULES_MAX)
        return err_set(err, ERR_LIMIT, "more than %d submodules", MODULES_MAX);
    if (list_settings(survey->tool, survey->user, folder, &listing, err) < 0)
        return -1;
    set_programs(survey->env, listing);
    return refuse_uploadpack(listing, folder, err);
}

static int survey_folder(struct survey *survey, const char *folder, size_t depth, struct err *err)
{
    struct arena *arena = survey->tool->arena;
    struct fs_names names = { 0 };
    struct fs_info info;

    if (fs_lstat(folder, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER)
        return 0;
    if (depth > MODULES_DEPTH)
        return err_set(err, ERR_LIMIT, "'%s' is more than %d folders deep", folder, MODULES_DEPTH);
    if (fs_list(arena, folder, &names, err) < 0)
        return -1;
    for (size_t i = 0; i < names.list.n; i++) {
        const char *module = path_join(arena, folder, names.list.p[i]);

        if (fs_lstat(path_join(arena, module, "config"), &info, err) < 0)
            return -1;
        if (info.kind == FS_NONE ? survey_folder(survey, module, depth + 1, err) < 0
                                 : survey_module(survey, module, err) < 0 ||
                                       survey_folder(survey, path_join(arena, module, "modules"),
                                                     depth + 1, err) < 0)
            return -1;
    }
    return 0;
}

/* Where git keeps the submodules of the copy; a .git that is a file names another folder. */
static int find_modules(const struct tool *tool, const struct guard_user *user, const char *path,
                        const char **ret, struct err *err)
{
    struct tool_options options = { .account = user->account, .cwd = path };
    struct guard_env env = { .tool = tool };
    const char *folder = path_join(tool->arena, path, ".git");
    struct fs_info info;
    struct str out;

    if (fs_lstat(folder, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER && info.kind != FS_NONE) {
        set_fixed(&env, user, path);
        options.env = guard_env(&env);
        if (tool_run(tool, TOOL("git", "rev-parse", "--path-format=absolute", "--git-common-dir"),
                     &options, &out, err) < 0)
            return -1;
        out = str_trim(out);
        folder = arena_strndup(tool->arena, out.p, out.n);
    }
    *ret = path_join(tool->arena, folder, "modules");
    return 0;
}

int guard_start(const struct tool *tool, const struct guard_user *user, const char *path,
                struct guard_env *ret, struct err *err)
{
    struct survey survey = { .tool = tool, .user = user, .env = ret };
    const char *modules;
    struct str listing;

    *ret = (struct guard_env){ .tool = tool };
    set_fixed(ret, user, path);
    if (!path)
        return 0;
    if (list_settings(tool, user, path, &listing, err) < 0)
        return -1;
    set_programs(ret, listing);
    /* A fetch says what to use instead; one that git begins by itself cannot. */
    if ((copy_sets(listing, "remote", "promisor") ||
         copy_sets(listing, "extensions", "partialclone")) &&
        refuse_uploadpack(listing, path, err) < 0)
        return -1;
    if (find_modules(tool, user, path, &modules, err) < 0)
        return -1;
    return survey_folder(&survey, modules, 0, err);
}
