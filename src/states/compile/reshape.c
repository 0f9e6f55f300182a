#include "states/compile/reshape.h"

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/compile/builtin.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/render.h"
#include "states/state/call.h"
#include "states/state/module.h"

/* Exit status of a shell that did not find the program. */
#define STATUS_NO_PROGRAM 127
/* Limit on the text of a command. */
#define COMMAND_MAX ((size_t)1 << 20)

static int call_reshaped_module(struct render *render, const struct bound_args *bound,
                                const char *name, const struct value *given, struct value *ret)
{
    const struct module *module = module_find(str_from(name));
    struct builtin_context *context = bound->user;
    struct diags diags = DIAGS_INIT(render->arena);
    struct err err;

    if (!module || !module->call)
        return render_fail(render, RENDER_NOT_FOUND, "'%s' is %s", name,
                           module ? "a state, not a function" : "not there");
    if (call_function(render->arena, context->host, module, given, NULL, ret, &diags) == 0)
        return 0;
    (void)diags_to_err(&diags, &err);
    return render_fail(render, RENDER_HOST, "%s(): %s", bound->name, err.text);
}

static bool is_salt_render(const struct render *render)
{
    return render->yaml == YAML_DIALECT_SALT;
}

/* The arguments of a module: a map with one key, or none. */
static struct value make_argument_map(struct render *render, const char *key, const struct value *v)
{
    struct value_map *map = container_new_map(render, 1);

    if (!argument_is_none(v))
        value_map_set(render->arena, map, value_text(key), *v);
    return value_map(map);
}

/* --- commands ------------------------------------------------------------------------- */

/* A list of words is quoted for the shell. */
static int make_command_text(struct render *render, const struct value *cmd, struct value *ret)
{
    AUTO_BUF struct buf out = BUF_INIT(COMMAND_MAX);
    const struct value_list *words;

    *ret = *cmd;
    if (cmd->kind != VALUE_LIST)
        return 0;
    words = container_list(render, cmd);
    for (size_t i = 0; i < words->count; i++) {
        struct str word;

        if (argument_text(render, &words->items[i], &word) < 0)
            return -1;
        buf_add_text(&out, i > 0 ? " '" : "'");
        while (word.p) {
            buf_add_str(&out, str_cut(&word, '\''));
            buf_add_text(&out, word.p ? "'\\''" : "'");
        }
    }
    *ret = value_str(buf_copy(&out, render->arena));
    return 0;
}

/* cmd, cwd, stdin and runas have a place; other arguments their names. */
static int make_command_arguments(struct render *render, const struct bound_args *bound,
                                  struct value *ret)
{
    static const char *const keys[] = { "command", "cwd", "stdin", "runas" };
    const struct value_map *more = container_map(render, &bound->args[ARRAY_LEN(keys)]);
    struct value_map *map = container_new_map(render, ARRAY_LEN(keys) + more->count);

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct value v = bound->args[i];

        if (i == 0 && make_command_text(render, &bound->args[0], &v) < 0)
            return -1;
        if (!argument_is_none(&v))
            value_map_set(render->arena, map, value_text(keys[i]), v);
    }
    for (size_t i = 0; i < more->count; i++)
        value_map_set(render->arena, map, more->pairs[i].key, more->pairs[i].value);
    *ret = value_map(map);
    return 0;
}

/* In Salt files, the output of a command, its error output, or both. */
static int run_shell_command(struct render *render, const struct bound_args *bound,
                             const char *module, const char *wanted, struct value *ret)
{
    struct str out, errors;
    struct value given, result;

    if (make_command_arguments(render, bound, &given) < 0)
        return -1;
    if (!is_salt_render(render) && module)
        return call_reshaped_module(render, bound, module, &given, ret);
    if (call_reshaped_module(render, bound, "cmd.run_all", &given, &result) < 0)
        return -1;
    out = value_get_view(&result, "stdout");
    errors = value_get_view(&result, "stderr");
    if (value_get_int(&result, "retcode", 0) == STATUS_NO_PROGRAM &&
        !value_get_bool(&given, "python_shell"))
        return render_fail(render, RENDER_HOST, "%s(): %.*s", bound->name, STR_ARG(errors));
    if (wanted)
        *ret = value_str(value_get_view(&result, wanted));
    else
        *ret = value_text(arena_printf(render->arena, "%.*s%s%.*s", STR_ARG(out),
                                       out.n > 0 && errors.n > 0 ? "\n" : "", STR_ARG(errors)));
    return 0;
}

static int call_cmd_run(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return run_shell_command(render, bound, "cmd.run", NULL, ret);
}

static int call_cmd_shell(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return run_shell_command(render, bound, "cmd.shell", NULL, ret);
}

static int call_run_stdout(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return run_shell_command(render, bound, NULL, "stdout", ret);
}

static int call_run_stderr(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return run_shell_command(render, bound, NULL, "stderr", ret);
}

/* --- packages and services ------------------------------------------------------------- */

static int find_versions(struct render *render, const struct bound_args *bound,
                         const struct value_list *names, struct value_map *ret)
{
    const struct value none = value_null(), given = make_argument_map(render, "", &none);
    struct value installed;

    if (call_reshaped_module(render, bound, "pkg.list_pkgs", &given, &installed) < 0)
        return -1;
    for (size_t i = 0; i < names->count; i++) {
        const struct value *version;
        struct str name;

        if (argument_text(render, &names->items[i], &name) < 0)
            return -1;
        version = value_get_str(&installed, name);
        value_map_set(render->arena, ret, names->items[i], version ? *version : value_text(""));
    }
    return 0;
}

static int call_pkg_version(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    const struct value_list *names = container_list(render, &bound->args[0]);
    struct value_map *versions = container_new_map(render, names->count);
    struct value given;

    if (names->count == 0)
        return render_fail(render, RENDER_TYPE, "%s() expects a name", bound->name);
    if (!is_salt_render(render)) {
        given = make_argument_map(render, "name", &names->items[0]);
        return call_reshaped_module(render, bound, "pkg.version", &given, ret);
    }
    if (find_versions(render, bound, names, versions) < 0)
        return -1;
    *ret = names->count == 1 ? versions->pairs[0].value : value_map(versions);
    return 0;
}

static int call_service_status(struct render *render, const struct bound_args *bound,
                               struct value *ret)
{
    const struct value given = make_argument_map(render, "name", &bound->args[0]);

    if (call_reshaped_module(render, bound, "service.status", &given, ret) < 0)
        return -1;
    if (is_salt_render(render))
        *ret = value_bool(str_is(ret->s, "running"));
    return 0;
}

/* --- disks ------------------------------------------------------------------------------ */

/* A line of df -P as a row of the map, by its folder. */
static void add_disk_usage(struct render *render, struct value_map *map, struct str line)
{
    static const char *const keys[] = { "filesystem", "1K-blocks", "used", "available",
                                        "capacity" };
    struct value_map *row = container_new_map(render, ARRAY_LEN(keys));

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct str word = str_cut(&line, ' ');

        line = str_trim(line);
        value_map_set(render->arena, row, value_text(keys[i]),
                      value_str(arena_str(render->arena, word)));
    }
    if (line.n > 0)
        value_map_set(render->arena, map, value_str(arena_str(render->arena, line)),
                      value_map(row));
}

static int call_disk_usage(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value given = make_argument_map(render, "path", &bound->args[0]);
    struct value_map *map = container_new_map(render, 0);
    struct str rest;

    if (call_reshaped_module(render, bound, "disk.usage", &given, ret) < 0)
        return -1;
    if (!is_salt_render(render))
        return 0;
    rest = ret->s;
    (void)str_cut(&rest, '\n'); /* the heads of the columns */
    while (rest.p)
        add_disk_usage(render, map, str_cut(&rest, '\n'));
    *ret = value_map(map);
    return 0;
}

#define COMMAND_SIGNATURE "cmd, cwd=none, stdin=none, runas=none, **kwargs"

/* clang-format off */
const struct function reshape_functions[] = {
    { "cmd.run", COMMAND_SIGNATURE, call_cmd_run, "what a command wrote; in .zy files it must succeed" },
    { "cmd.run_stderr", COMMAND_SIGNATURE, call_run_stderr, "the error output of a command" },
    { "cmd.run_stdout", COMMAND_SIGNATURE, call_run_stdout, "the output of a command" },
    { "cmd.shell", COMMAND_SIGNATURE, call_cmd_shell, "what a command wrote; in .zy files it must succeed" },
    { "disk.usage", "path=none", call_disk_usage, "how full the file systems are: in Salt files a map of folders; else the text of df -P" },
    { "pkg.version", "*names", call_pkg_version, "the installed version: in Salt files empty when there is none, a map for several" },
    { "service.status", "name", call_service_status, "whether a service runs: in Salt files true or false; else 'running' or 'stopped'" },
    { 0 },
};
/* clang-format on */
