#include "states/provider/tool.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/provider/package/manager.h"
#include "states/provider/tool_cause.h"
#include "core/sys/account.h"
#include "core/sys/process.h"

/* Limit for the program output in an error. */
#define TAIL_MAX 600
#define USUAL    "/usr/local/bin:/usr/bin:/bin"
#define SYSTEM   "/usr/local/sbin:/usr/sbin:/sbin"

void tool_add(const struct tool *tool, struct tool_words *words, const char *word)
{
    VEC_PUSH_IN(tool->arena, &words->list, word);
}

void tool_add_option(const struct tool *tool, struct tool_words *words, const char *name,
                     const char *value)
{
    if (value)
        tool_add(tool, words, arena_printf(tool->arena, "--%s=%s", name, value));
}

const char *const *tool_argv(const struct tool *tool, struct tool_words *words)
{
    VEC_PUSH_IN(tool->arena, &words->list, NULL);
    words->list.n--;
    return words->list.p;
}

const char *tool_path(struct arena *arena)
{
    const char *path = getenv("PATH");

    return arena_printf(arena, "%s:%s", path && path[0] ? path : USUAL, SYSTEM);
}

const char *tool_find(struct arena *arena, const char *name)
{
    struct str rest = str_from(tool_path(arena));

    while (rest.p) {
        const struct str folder = str_cut(&rest, ':');
        const char *path = arena_printf(arena, "%.*s/%s", STR_ARG(folder), name);

        if (folder.n > 0 && access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

/* --- environment --------------------------------------------------------------------- */

static bool is_same_name(const char *a, const char *b)
{
    const size_t n = strcspn(a, "=");

    return n == strcspn(b, "=") && memcmp(a, b, n) == 0;
}

static void put_variable(const struct tool *tool, struct tool_words *env, const char *entry)
{
    VEC_EACH (&env->list, old)
        if (is_same_name(*old, entry)) {
            *old = entry;
            return;
        }
    tool_add(tool, env, entry);
}

static const char *const *make_tool_environment(const struct tool *tool,
                                                const struct account *account,
                                                const struct tool_options *options)
{
    struct tool_words env = { 0 };

    for (char **entry = environ; *entry; entry++)
        tool_add(tool, &env, *entry);
    put_variable(tool, &env, arena_printf(tool->arena, "PATH=%s", tool_path(tool->arena)));
    put_variable(tool, &env, "LC_ALL=C.UTF-8");
    put_variable(tool, &env, "LANGUAGE=");
    if (account) {
        put_variable(tool, &env, arena_printf(tool->arena, "HOME=%s", account->home));
        put_variable(tool, &env, arena_printf(tool->arena, "USER=%s", account->name));
        put_variable(tool, &env, arena_printf(tool->arena, "LOGNAME=%s", account->name));
    }
    for (const char *const *entry = options->env; entry && *entry; entry++)
        put_variable(tool, &env, *entry);
    return tool_argv(tool, &env);
}

/* --- running ------------------------------------------------------------------------- */

int tool_missing(const char *program, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *package = package_manager_program(&arena, program);

    if (package)
        return err_set(err, ERR_NOT_FOUND,
                       "program '%s' is not installed; install the package '%s'", program, package);
    return err_set(err, ERR_NOT_FOUND, "program '%s' is not installed", program);
}

/* Is the program missing, or did the start fail for another reason, such as its folder? */
static bool is_missing_program(const struct tool *tool, const char *program)
{
    return strchr(program, '/') ? access(program, F_OK) < 0 : !tool_find(tool->arena, program);
}

static int find_tool_account(const struct tool *tool, const struct tool_options *how,
                             const struct account **ret, struct process_user *user, struct err *err)
{
    const char *name = how->runas ? how->runas : tool->runas;
    struct account_gids gids = { .list = VEC_INIT };

    *ret = how->account;
    if (!*ret && account_find(tool->arena, name, ret, err) < 0)
        return -1;
    if (!*ret)
        return err_set(err, ERR_NOT_FOUND, "user '%s' does not exist", name);
    if (account_groups(tool->arena, *ret, &gids, err) < 0)
        return -1;
    *user = (struct process_user){ (*ret)->uid, (*ret)->gid, gids.list.p, gids.list.n };
    return 0;
}

int tool_try(const struct tool *tool, const char *const *argv, const struct tool_options *options,
             struct process_result *ret_result, struct err *err)
{
    static const struct tool_options plain = { 0 };
    const struct tool_options *how = options ? options : &plain;
    const struct account *account = NULL;
    struct process_user user;
    struct process_spec spec = { .argv = argv, .cwd = how->cwd };
    const struct process_bounds bounds = {
        .timeout = how->timeout > 0 ? how->timeout : tool->timeout,
        .input = how->input,
        .stop_signal = SIGINT,
        .stop_time = how->stop_time > 0 ? how->stop_time : TOOL_STOP_NS,
    };

    if ((how->runas || how->account || tool->runas) &&
        find_tool_account(tool, how, &account, &user, err) < 0)
        return -1;
    if (account && (user.uid != geteuid() || user.gid != getegid()))
        spec.user = &user;
    spec.env = make_tool_environment(tool, account, how);
    if (process_run(&spec, &bounds, tool->cancel, tool->arena, ret_result, err) < 0)
        return is_missing_program(tool, argv[0]) ? tool_missing(argv[0], err)
                                                 : err_wrap(err, "%s", argv[0]);
    if (ret_result->canceled)
        return err_set(err, ERR_CANCELED, "canceled while running %s", argv[0]);
    if (ret_result->timed_out)
        return err_set(err, ERR_TIMEOUT, "%s took too long and was killed", argv[0]);
    return 0;
}

/* The subcommand: the first argument that is not an option; NULL: none. */
static const char *find_subcommand(const char *const *argv)
{
    static const char *const manners[] = { "-q", "-y", "-o", "-C", "--" };

    for (const char *const *word = argv + 1; *argv && *word; word++) {
        bool manner = strncmp(*word, "--", 2) == 0 || strchr(*word, '=') || **word == '/';

        for (size_t i = 0; i < ARRAY_LEN(manners); i++)
            manner |= strcmp(*word, manners[i]) == 0;
        if (!manner)
            return **word == '-' ? NULL : *word;
    }
    return NULL;
}

int tool_fail(const char *const *argv, const struct process_result *result, struct err *err)
{
    AUTO_BUF struct buf why = BUF_INIT(BUF_NO_LIMIT);
    const char *verb = find_subcommand(argv);
    struct str said = str_trim(result->err);
    const char *cause;

    if (said.n == 0)
        said = str_trim(result->out);
    cause = tool_cause(said);
    process_status_print(result->status, &why);
    if (said.n > 0)
        buf_add_text(&why, said.n > TAIL_MAX ? ": ..." : ": ");
    buf_add_str(&why, str_from_offset(said, said.n > TAIL_MAX ? said.n - TAIL_MAX : 0));
    return err_set(err, ERR_INVALID, "%s%s%s: %s%s%s", argv[0], verb ? " " : "", verb ? verb : "",
                   cause ? cause : "", cause ? "\n" : "", buf_text(&why));
}

int tool_run(const struct tool *tool, const char *const *argv, const struct tool_options *options,
             struct str *ret_output, struct err *err)
{
    struct process_result result;

    if (tool_try(tool, argv, options, &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return tool_fail(argv, &result, err);
    if (ret_output)
        *ret_output = result.out;
    return 0;
}
