/* A program that prints the value: vault, pass, sops, op. */
#include <signal.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/ed25519.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "fleet/master/secrets/backend.h"
#include "core/sys/clock.h"
#include "core/sys/process.h"

#define COMMAND_WORDS_MAX 64
#define WORDS_MAX         200 /* shown bytes of an error message */
#define PATH_PLACE        "{path}"

/* clang-format off */
static const struct param rows[] = {
    BACKEND_ROWS,
    PARAM("command",     STRS,   struct backend, command, "the program and its arguments; no shell reads them", .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("path_as",     CHOICE, struct backend, way, "how it gets the path: as an `argument`, where `{path}` is or as the last one, or as a line on `stdin`", .choices = "argument|stdin", .default_text = "argument"),
    PARAM("environment", STRMAP, struct backend, environment, "its environment, besides PATH and LANG; nothing is inherited", .flags = PARAM_SECRET),
    PARAM("first_line",  BOOL,   struct backend, first_line, "the value is the first line of what it prints", .default_text = "false"),
    PARAM("log_errors",  BOOL,   struct backend, log_errors, "say the first line of its standard error when it fails; only for programs that print no secrets there", .default_text = "false"),
    { 0 },
};

static const char *const fixed_env[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG=C.UTF-8",
};
/* clang-format on */

struct words {
    VEC(const char *) list;
};

static void check_backend_command(const struct backend *backend, const struct value *given,
                                  struct diags *diags)
{
    if (backend->command.n > COMMAND_WORDS_MAX)
        (void)value_diag(diags, value_point(given, "command"),
                         "'secret_backends': a command of %zu words, the limit is %d",
                         backend->command.n, COMMAND_WORDS_MAX);
    for (size_t i = 0; i < backend->environment.n; i++) {
        const char *key = backend->environment.p[i].key;

        if (key[0] == '\0' || strchr(key, '='))
            (void)value_diag(diags, value_point(given, "environment"),
                             "'secret_backends': '%s' cannot be the name of a variable", key);
    }
}

static bool is_env_given(const struct backend *backend, const char *entry)
{
    for (size_t i = 0; i < backend->environment.n; i++) {
        const char *key = backend->environment.p[i].key;

        if (strncmp(entry, key, strlen(key)) == 0 && entry[strlen(key)] == '=')
            return true;
    }
    return false;
}

static const char *const *make_backend_env(const struct backend *backend, struct arena *arena)
{
    struct words env = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(fixed_env); i++)
        if (!is_env_given(backend, fixed_env[i]))
            VEC_PUSH_IN(arena, &env.list, fixed_env[i]);
    for (size_t i = 0; i < backend->environment.n; i++)
        VEC_PUSH_IN(arena, &env.list,
                    arena_printf(arena, "%s=%s", backend->environment.p[i].key,
                                 backend->environment.p[i].value));
    VEC_PUSH_IN(arena, &env.list, NULL);
    return env.list.p;
}

/* Fills the path into a word; a word without placeholder is unchanged. */
static const char *fill_word(const struct backend_call *call, const char *word)
{
    const char *at = strstr(word, PATH_PLACE);

    if (!at)
        return word;
    return arena_printf(call->arena, "%.*s%s%s", str_int((size_t)(at - word)), word, call->path,
                        at + strlen(PATH_PLACE));
}

static const char *const *make_backend_argv(const struct backend *backend,
                                            const struct backend_call *call)
{
    bool has_path = backend->way == BACKEND_BY_STDIN;
    struct words argv = { 0 };

    for (size_t i = 0; i < backend->command.n; i++) {
        const char *word = backend->command.p[i];
        const char *filled = backend->way == BACKEND_BY_STDIN ? word : fill_word(call, word);

        has_path |= filled != word;
        VEC_PUSH_IN(call->arena, &argv.list, filled);
    }
    if (!has_path)
        VEC_PUSH_IN(call->arena, &argv.list, call->path);
    VEC_PUSH_IN(call->arena, &argv.list, NULL);
    return argv.list.p;
}

/* Its exit status; its own message only when the configuration says that it contains no secrets. */
static int explain_failure(const struct backend *backend, const struct process_result *result,
                           struct err *err)
{
    AUTO_BUF struct buf status = BUF_INIT(64);
    struct str said = str_trim(result->err);
    struct str line = str_trim(str_cut(&said, '\n'));

    process_status_print(result->status, &status);
    if (!backend->log_errors || line.n == 0)
        return err_set(err, ERR_SYSTEM, "'%s' failed: %s", backend->command.p[0],
                       buf_text(&status));
    line.n = utf8_valid_length(line.n > WORDS_MAX ? str_slice(line, 0, WORDS_MAX) : line);
    return err_set(err, ERR_SYSTEM, "'%s' failed: %s: %.*s", backend->command.p[0],
                   buf_text(&status), STR_ARG(line));
}

static int check_result(const struct backend *backend, const struct process_result *result,
                        struct err *err)
{
    if (result->canceled)
        return err_set(err, ERR_CANCELED, "'%s' was canceled", backend->command.p[0]);
    if (result->timed_out)
        return err_set(err, ERR_TIMEOUT, "'%s' was not finished after %.3g seconds",
                       backend->command.p[0], (double)backend->timeout / (double)CLOCK_SECOND);
    if (!process_status_ok(result->status))
        return explain_failure(backend, result, err);
    if (result->out_dropped > 0)
        return err_set(err, ERR_LIMIT, "'%s' printed more than %zu bytes", backend->command.p[0],
                       BACKEND_VALUE_MAX);
    return 0;
}

static int get_output(const struct backend *backend, const struct backend_call *call,
                      struct str *ret_bytes, struct err *err)
{
    const struct process_spec spec = { .argv = make_backend_argv(backend, call),
                                       .env = make_backend_env(backend, call->arena),
                                       .cwd = "/",
                                       .has_umask = true,
                                       .umask = 077,
                                       .parent_death = SIGKILL };
    struct process_bounds bounds = { .timeout = backend->timeout, .output_max = BACKEND_VALUE_MAX };
    struct process_result result;

    if (backend->way == BACKEND_BY_STDIN)
        bounds.input = str_from(arena_printf(call->arena, "%s\n", call->path));
    if (process_run(&spec, &bounds, call->cancel, call->arena, &result, err) < 0)
        return -1;
    if (check_result(backend, &result, err) < 0) {
        ed25519_wipe((char *)(uintptr_t)result.out.p, result.out.n);
        return -1;
    }
    *ret_bytes = result.out;
    if (backend->first_line)
        *ret_bytes = str_cut(&result.out, '\n');
    return 0;
}

const struct backend_kind backend_kind_command = {
    .name = "command",
    .rows = rows,
    .check = check_backend_command,
    .get = get_output,
};
