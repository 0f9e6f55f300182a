#include "states/modules/cmd/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/vec.h"
#include "core/data/value.h"
#include "states/modules/file/content.h"
#include "states/state/variables.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/account.h"
#include "core/sys/fd.h"
#include "core/sys/process.h"

/* How much of a failed command's output goes into the error; the details have all of it. */
#define TAIL_MAX 400

/* --- environment ------------------------------------------------------------------------ */

struct env {
    struct arena *arena;
    VEC(const char *) list; /* "NAME=value" */
};

static size_t name_length(const char *entry)
{
    const char *equals = strchr(entry, '=');

    return equals ? (size_t)(equals - entry) : strlen(entry);
}

/* A NULL value removes the name. */
static void set_env(struct env *env, const char *name, const char *value)
{
    const size_t n = strlen(name);
    size_t kept = 0;

    for (size_t i = 0; i < env->list.n; i++)
        if (name_length(env->list.p[i]) != n || memcmp(env->list.p[i], name, n) != 0)
            env->list.p[kept++] = env->list.p[i];
    env->list.n = kept;
    if (value)
        VEC_PUSH_IN(env->arena, &env->list, arena_printf(env->arena, "%s=%s", name, value));
}

static bool is_command_name(struct str name)
{
    return name.n > 0 && !memchr(name.p, '=', name.n) && !memchr(name.p, '\0', name.n);
}

static bool is_command_text(const struct value *v)
{
    return v->kind != VALUE_LIST && v->kind != VALUE_MAP && v->kind != VALUE_OBJECT;
}

static bool is_env_map(const struct value *v)
{
    for (size_t i = 0; i < v->map->count; i++)
        if (v->map->pairs[i].key.kind != VALUE_STR || !is_command_name(v->map->pairs[i].key.s) ||
            !is_command_text(&v->map->pairs[i].value))
            return false;
    return true;
}

static bool is_env_text(const struct value *v)
{
    return v->kind == VALUE_STR && str_find_char(v->s, '=', 0) != STR_NONE && v->s.p[0] != '=' &&
           !memchr(v->s.p, '\0', v->s.n);
}

static bool is_env(const struct value *v)
{
    if (v->kind == VALUE_MAP)
        return is_env_map(v);
    if (v->kind != VALUE_LIST)
        return v->kind == VALUE_NULL || is_env_text(v);
    for (size_t i = 0; i < v->list->count; i++) {
        const struct value *item = &v->list->items[i];

        if (item->kind == VALUE_MAP ? !is_env_map(item) : !is_env_text(item))
            return false;
    }
    return true;
}

static void add_env(struct env *env, const struct value *v)
{
    if (v->kind == VALUE_STR) {
        const size_t n = name_length(v->s.p);

        set_env(env, arena_strndup(env->arena, v->s.p, n), v->s.p + n + 1);
    }
    for (size_t i = 0; v->kind == VALUE_LIST && i < v->list->count; i++)
        add_env(env, &v->list->items[i]);
    for (size_t i = 0; v->kind == VALUE_MAP && i < v->map->count; i++) {
        const struct value *value = &v->map->pairs[i].value;
        const bool removes = value->kind == VALUE_NULL || (value->kind == VALUE_BOOL && !value->b);
        AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

        content_add_scalar(&text, value);
        set_env(env, v->map->pairs[i].key.s.p, removes ? NULL : buf_text(&text));
    }
}

static void prepend_env_path(struct env *env, const char *folders)
{
    const char *path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    VEC_EACH (&env->list, entry)
        if (strncmp(*entry, "PATH=", 5) == 0)
            path = *entry + 5;
    set_env(env, "PATH", arena_printf(env->arena, "%s:%s", folders, path));
}

/* Our own with what states have set, then that of the user, then the requested one. */
static const char *const *make_command_env(struct state_run *run, const struct command_args *args,
                                           const struct account *account)
{
    const char *const *base = variables_make(run->host->variables, run->arena);
    struct env env = { .arena = run->arena };

    if (!args->env && !args->prepend_path && !account)
        return base;
    for (const char *const *entry = base ? base : (const char *const *)environ; *entry; entry++)
        VEC_PUSH_IN(run->arena, &env.list, *entry);
    if (account) {
        set_env(&env, "HOME", account->home);
        set_env(&env, "USER", account->name);
        set_env(&env, "LOGNAME", account->name);
        set_env(&env, "SHELL", account->shell);
    }
    if (args->env)
        add_env(&env, args->env);
    if (args->prepend_path)
        prepend_env_path(&env, args->prepend_path);
    VEC_PUSH_IN(run->arena, &env.list, NULL);
    return env.list.p;
}

/* --- arguments --------------------------------------------------------------------------- */

static bool read_exit_code(const struct value *v, int64_t *ret)
{
    struct err err;

    if (v->kind == VALUE_INT)
        *ret = v->i;
    else if (v->kind != VALUE_STR || number_parse_int(v->s, ret, &err) < 0)
        return false;
    return *ret >= 0 && *ret <= 255;
}

static bool are_codes(const struct value *v)
{
    int64_t code;

    if (v->kind != VALUE_LIST)
        return read_exit_code(v, &code);
    for (size_t i = 0; i < v->list->count; i++)
        if (!read_exit_code(&v->list->items[i], &code))
            return false;
    return true;
}

int command_validate(const struct command_args *args, struct diags *diags)
{
    int result = 0;

    if (args->env && !is_env(args->env)) {
        result = value_diag(diags, args->env, "'env' must be a map of names and values");
        diag_hint(diags, "a list of maps, or of NAME=value, works too");
    }
    if (args->success_retcodes && !are_codes(args->success_retcodes))
        result = value_diag(diags, args->success_retcodes,
                            "'success_retcodes' must be exit statuses from 0 to 255");
    return result;
}

bool command_is_words(const struct value *list)
{
    if (list->kind != VALUE_LIST)
        return false;
    for (size_t i = 0; i < list->list->count; i++)
        if (!is_command_text(&list->list->items[i]) || list->list->items[i].kind == VALUE_NULL)
            return false;
    return true;
}

const char *const *command_words(struct state_run *run, const char *first, const struct value *list)
{
    const char **words = ARENA_ARRAY(run->arena, const char *, list->list->count + 2);

    words[0] = first;
    for (size_t i = 0; i < list->list->count; i++) {
        AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

        content_add_scalar(&text, &list->list->items[i]);
        words[i + 1] = arena_strdup(run->arena, buf_text(&text));
    }
    return words;
}

/* Split a command into words like a shell, but only with its quotes and backslashes. */
static int split_words(struct state_run *run, const char *text, const char *const **ret,
                       struct err *err)
{
    AUTO_BUF struct buf word = BUF_INIT(BUF_NO_LIMIT);
    VEC(const char *) words = VEC_INIT;
    bool inside = false;
    char quote = '\0';

    for (const char *p = text; *p; p++) {
        if (!quote && strchr(" \t\r\n", *p)) {
            if (inside)
                VEC_PUSH_IN(run->arena, &words, arena_strdup(run->arena, buf_text(&word)));
            buf_clear(&word);
            inside = false;
            continue;
        }
        inside = true;
        if (quote ? *p == quote : *p == '\'' || *p == '"') {
            quote = quote ? '\0' : *p;
            continue;
        }
        if (*p == '\\' && quote != '\'' && p[1] && (!quote || strchr("\"\\", p[1])))
            p++;
        buf_add_char(&word, *p);
    }
    if (quote)
        return err_set(err, ERR_INVALID, "command \"%s\": unclosed quote", text);
    if (inside)
        VEC_PUSH_IN(run->arena, &words, arena_strdup(run->arena, buf_text(&word)));
    if (words.n == 0)
        return err_set(err, ERR_INVALID, "the command is empty");
    VEC_PUSH_IN(run->arena, &words, NULL);
    *ret = words.p;
    return 0;
}

/* --- running ------------------------------------------------------------------------------ */

static int find_runas_account(struct state_run *run, const struct command_args *args,
                              const struct account **ret, struct err *err)
{
    *ret = NULL;
    if (!args->runas)
        return 0;
    if (account_find(run->arena, args->runas, ret, err) < 0)
        return -1;
    if (!*ret)
        return err_set(err, ERR_NOT_FOUND, "user '%s' does not exist", args->runas);
    return 0;
}

/* The ids of the child; false when they are our own, so no privilege is needed. */
static int find_runas_user(struct state_run *run, const struct command_args *args,
                           const struct account *account, struct process_user *user,
                           bool *ret_switch, struct err *err)
{
    struct account_gids gids = { .list = VEC_INIT };

    *user = (struct process_user){ .uid = geteuid(), .gid = getegid() };
    if (account) {
        user->uid = account->uid;
        user->gid = account->gid;
        if (account_groups(run->arena, account, &gids, err) < 0)
            return -1;
        user->groups = gids.list.p;
        user->group_count = gids.list.n;
    }
    if (args->group && account_parse_group(args->group, &user->gid, err) < 0)
        return -1;
    *ret_switch = user->uid != geteuid() || user->gid != getegid();
    return 0;
}

/* An unlinked file that only the child sees. */
static int make_input(struct str input, int *ret_fd, struct err *err)
{
    AUTO_FD int fd = memfd_create("stdin", MFD_CLOEXEC);

    if (fd < 0)
        return err_sys(err, errno, "create a file for the input");
    if (fd_write(fd, input.p, input.n, err) < 0)
        return err_wrap(err, "write the input");
    if (lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "rewind the input");
    *ret_fd = fd_take(&fd);
    return 0;
}

int command_run(struct state_run *run, const struct command_args *args,
                const struct shell_command *command, struct process_result *ret, struct err *err)
{
    struct process_spec spec = {
        .argv = command->argv,
        .cwd = args->cwd,
        .has_umask = args->has_umask,
        .umask = args->umask,
    };
    const struct account *account;
    struct process_user user;
    AUTO_FD int input = -1;
    bool switches;

    if (!spec.argv && !args->python_shell && split_words(run, command->text, &spec.argv, err) < 0)
        return -1;
    if (!spec.argv) {
        spec.command = command->text;
        spec.shell = args->shell;
    }
    if (find_runas_account(run, args, &account, err) < 0 ||
        find_runas_user(run, args, account, &user, &switches, err) < 0)
        return -1;
    spec.env = make_command_env(run, args, account);
    spec.user = switches ? &user : NULL;
    if (args->has_input) {
        if (make_input(args->input, &input, err) < 0)
            return -1;
        spec.in = (struct process_stream){ PROCESS_FD, input };
    }
    if (state_command(run, &spec, args->timeout, ret, err) < 0)
        return err_wrap(err, "command \"%s\"", command->text);
    return 0;
}

/* --- result -------------------------------------------------------------------------------- */

static bool has_line_break(struct str output, struct param_strs lines)
{
    struct str rest = output;

    while (rest.p) {
        const struct str line = str_trim(str_cut(&rest, '\n'));

        for (size_t i = 0; i < lines.n; i++)
            if (str_is(line, lines.p[i]))
                return true;
    }
    return false;
}

static bool is_success_code(const struct value *codes, int status)
{
    int64_t code;

    if (!codes)
        return false;
    if (codes->kind != VALUE_LIST)
        return read_exit_code(codes, &code) && code == status;
    for (size_t i = 0; i < codes->list->count; i++)
        if (read_exit_code(&codes->list->items[i], &code) && code == status)
            return true;
    return false;
}

bool command_succeeded(const struct command_args *args, const struct process_result *result)
{
    if (result->timed_out)
        return false;
    return process_status_ok(result->status) ||
           (args->ignore_retcode && result->status.signo == 0) ||
           is_success_code(args->success_retcodes, result->status.code) ||
           has_line_break(result->out, args->success_stdout) ||
           has_line_break(result->err, args->success_stderr);
}

static bool is_command_hidden(const struct command_args *args)
{
    return args->hide_output || (args->has_loglevel && args->loglevel == COMMAND_QUIET);
}

/* The end of its output, in one line. */
static void add_tail(struct buf *out, struct str said)
{
    said = str_trim(said);
    if (said.n == 0)
        return;
    buf_add_text(out, ": ");
    if (said.n > TAIL_MAX)
        buf_add_text(out, "...");
    buf_add_str(out, str_from_offset(said, said.n > TAIL_MAX ? said.n - TAIL_MAX : 0));
}

static int set_command_failure(const struct command_args *args, const struct shell_command *command,
                               const struct process_result *result, struct err *err)
{
    AUTO_BUF struct buf why = BUF_INIT(BUF_NO_LIMIT);

    if (result->timed_out) {
        buf_add_text(&why, "took longer than ");
        number_print_duration(args->timeout, &why);
        buf_add_text(&why, " and was killed with all its children");
    } else {
        process_status_print(result->status, &why);
    }
    if (!is_command_hidden(args))
        add_tail(&why, str_trim(result->err).n > 0 ? result->err : result->out);
    return err_set(err, result->timed_out ? ERR_TIMEOUT : ERR_INVALID, "command \"%s\": %s",
                   command->text, buf_text(&why));
}

static void detail_output(struct state_run *run, const char *key, struct str output, size_t dropped)
{
    struct str shown = str_trim(output);

    if (dropped > 0)
        shown =
            str_from(arena_printf(run->arena, "%.*s\n(%zu bytes more)", STR_ARG(shown), dropped));
    state_detail_value(run, key, value_str(arena_str(run->arena, shown)));
}

int command_judge(struct state_run *run, const struct command_args *args,
                  const struct shell_command *command, const struct process_result *result,
                  struct err *err)
{
    state_detail(run, "command", "%s", command->text);
    if (!is_command_hidden(args)) {
        detail_output(run, "stdout", result->out, result->out_dropped);
        detail_output(run, "stderr", result->err, result->err_dropped);
    }
    state_detail(run, "exitcode", "%d", result->status.code);
    if (result->status.signo > 0)
        state_detail(run, "signal", "%d", result->status.signo);
    return command_succeeded(args, result) ? 0 : set_command_failure(args, command, result, err);
}
