/* environ.setenv - manage environment variables of login sessions. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "core/edit/lines.h"
#include "states/modules/file/content.h"
#include "states/modules/file/editor.h"
#include "states/state/variables.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct setenv_args

#define ENVIRONMENT_FILE "/etc/environment"

struct setenv_args {
    const char *name, *config;
    const struct value *value;
    bool false_unsets, update_minion, permanent;
};

/* clang-format off */
static const struct param setenv_params[] = {
    PARAM("name", STR, ARGS, name, "the variable, or any name when 'value' is a map", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("value", ANY, ARGS, value, "its value, or a map of variables to values; null removes a variable", .flags = PARAM_REQUIRED),
    PARAM("false_unsets", BOOL, ARGS, false_unsets, "false removes a variable too"),
    PARAM("config", PATH, ARGS, config, "the file (default: /etc/environment; none in a Salt file)"),
    PARAM("update_minion", BOOL, ARGS, update_minion, "for compatibility with Salt: later commands always see the variables"),
    PARAM("permanent", BOOL, ARGS, permanent, "write to /etc/environment, even in a Salt file"),
    PARAM_REFUSED("clear_all", "commands would lose their PATH"),
    { 0 },
};
/* clang-format on */

/* The file has a line for each variable, and no way to quote. */
static int validate_line(struct str name, const struct value *v, const struct value *where,
                         struct diags *diags)
{
    if (memchr(v->s.p, '\n', v->s.n) || memchr(v->s.p, '\r', v->s.n))
        return value_diag(diags, where, "the value of '%.*s' must not contain a newline",
                          STR_ARG(name));
    if (memchr(v->s.p, '#', v->s.n))
        return value_diag(diags, v,
                          "the value of '%.*s' must not contain '#': the file has no way to quote "
                          "it, and sessions would get a truncated value",
                          STR_ARG(name));
    return 0;
}

static int validate_pair(const struct setenv_args *want, struct str name, const struct value *v,
                         const struct value *where, struct diags *diags)
{
    const bool has_file = want->config || want->permanent || !where->source || !where->source->salt;

    if (!validate_is_variable(name))
        return value_diag(diags, where, "'%.*s' is not a valid variable name", STR_ARG(name));
    if (v->kind == VALUE_LIST || v->kind == VALUE_MAP)
        return value_diag(diags, where, "'%.*s' must be a text, got %s", STR_ARG(name),
                          value_describe(v));
    if (v->kind == VALUE_STR && memchr(v->s.p, '\0', v->s.n))
        return value_diag(diags, where, "the value of '%.*s' must not contain a null character",
                          STR_ARG(name));
    if (v->kind == VALUE_STR && has_file)
        return validate_line(name, v, where, diags);
    return 0;
}

static int setenv_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct setenv_args *want = args;
    int result = 0;

    if (want->value->kind != VALUE_MAP)
        return validate_pair(want, str_from(want->name), want->value, where, diags);
    for (size_t i = 0; i < want->value->map->count; i++) {
        const struct value_pair *pair = &want->value->map->pairs[i];

        if (pair->key.kind != VALUE_STR)
            result = value_diag(diags, where, "variable names must be text");
        else if (validate_pair(want, pair->key.s, &pair->value, where, diags) < 0)
            result = -1;
    }
    return result;
}

/* NAME=..., with or without "export ". */
static bool is_line_of_variable(struct str line, struct str name)
{
    struct str rest = str_trim_left(line);

    if (str_starts(rest, STR("export ")))
        rest = str_trim_left(str_from_offset(rest, strlen("export ")));
    return rest.n > name.n && rest.p[name.n] == '=' && str_starts(rest, name);
}

static bool is_variable_removed(const struct setenv_args *want, const struct value *v)
{
    return v->kind == VALUE_NULL || (want->false_unsets && v->kind == VALUE_BOOL && !v->b);
}

/* Readers of the file strip a leading quote, and with it a trailing one. */
static void add_environ_value(struct buf *line, const char *value)
{
    const char *quote = value[0] == '"' || value[0] == '\'' ? "\"" : "";

    buf_printf(line, "%s%s%s", quote, value, quote);
}

static void put_environ_pair(struct state_run *run, const struct setenv_args *want, struct str name,
                             const struct value *v, struct str *text, struct buf *out)
{
    AUTO_BUF struct buf line = BUF_INIT(BUF_NO_LIMIT), value = BUF_INIT(BUF_NO_LIMIT);

    if (!is_variable_removed(want, v)) {
        content_add_scalar(&value, v);
        buf_add_str(&line, name);
        buf_add_char(&line, '=');
        add_environ_value(&line, buf_text(&value));
    }
    variables_set(run->host->variables, arena_str(run->arena, name).p,
                  is_variable_removed(want, v) ? NULL : buf_text(&value));
    buf_clear(out);
    lines_put(out, *text, is_line_of_variable, name, buf_view(&line));
    *text = buf_copy(out, run->arena);
}

static int plan_environ(struct state_run *run, const void *args, const struct editor_file *file,
                        struct editor_plan *plan, struct err *err)
{
    const struct setenv_args *want = args;
    struct str text = file->text;

    if (want->value->kind != VALUE_MAP)
        put_environ_pair(run, want, str_from(want->name), want->value, &text, &plan->text);
    for (size_t i = 0; want->value->kind == VALUE_MAP && i < want->value->map->count; i++)
        put_environ_pair(run, want, want->value->map->pairs[i].key.s,
                         &want->value->map->pairs[i].value, &text, &plan->text);
    plan->pending = arena_printf(run->arena, "environment differs in %s", file->path);
    plan->done = arena_printf(run->arena, "set environment in %s", file->path);
    plan->remark = arena_printf(run->arena, "environment is up to date in %s", file->path);
    return edit_finish(&plan->text, err);
}

/* The file that keeps the variables; NULL: set for this run only, as Salt does. */
static const char *find_environ_file(const struct state_run *run, const struct setenv_args *want)
{
    if (want->config)
        return want->config;
    return run->salt && !want->permanent ? NULL : ENVIRONMENT_FILE;
}

/* The value for the commands of this run; NULL: none. As in Salt, false is an empty text. */
static const char *find_value_for_run(struct state_run *run, const struct setenv_args *want,
                                      const struct value *v)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (is_variable_removed(want, v))
        return NULL;
    if (v->kind != VALUE_BOOL || v->b)
        content_add_scalar(&text, v);
    return buf_copy(&text, run->arena).p;
}

/* An empty variable and none are the same, unless it must go. */
static void compare_pair(struct state_run *run, const char *name, const char *value)
{
    const char *now = variables_find(run->host->variables, run->arena, name);

    if (value ? strcmp(value, now ? now : "") != 0 : now != NULL)
        state_differs(run,
                      value ? "%s is set for the commands of this run"
                            : "%s is removed for the commands of this run",
                      name);
}

typedef void pair_fn(struct state_run *run, const char *name, const char *value);

static void set_pair(struct state_run *run, const char *name, const char *value)
{
    variables_set(run->host->variables, name, value);
}

static void visit_pairs(struct state_run *run, const struct setenv_args *want, pair_fn *use)
{
    const struct value_map *map = want->value->kind == VALUE_MAP ? want->value->map : NULL;

    if (!map)
        use(run, want->name, find_value_for_run(run, want, want->value));
    for (size_t i = 0; map && i < map->count; i++)
        use(run, arena_str(run->arena, map->pairs[i].key.s).p,
            find_value_for_run(run, want, &map->pairs[i].value));
}

static int setenv_check(struct state_run *run, const void *args, struct err *err)
{
    const struct editor editor = { .path = find_environ_file(run, args), .plan = plan_environ };

    if (editor.path)
        return editor_check(run, &editor, args, err);
    visit_pairs(run, args, compare_pair);
    if (run->test || !run->differs) /* guards of later states see it in a dry run, too */
        visit_pairs(run, args, set_pair);
    if (!run->differs)
        state_say(run, "already set");
    return 0;
}

static int setenv_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct editor editor = { .path = find_environ_file(run, args), .plan = plan_environ };

    if (editor.path)
        return editor_apply(run, &editor, args, err);
    buf_clear(&run->text);
    visit_pairs(run, args, compare_pair);
    visit_pairs(run, args, set_pair);
    return 0;
}

const struct module module_environ_setenv = {
    .name = "environ.setenv",
    .summary = "manage environment variables of login sessions",
    .details = "The variables are written to /etc/environment, for every session that starts "
               "afterwards, and later commands of the same run see them too. A Salt file sets them "
               "for the run only, unless it gives 'config' or 'permanent'.",
    .example = "name: EDITOR\nvalue: vim\nconfig: ROOT/environment\n",
    .params = setenv_params,
    .args_size = sizeof(struct setenv_args),
    .validate = setenv_validate,
    .check = setenv_check,
    .apply = setenv_apply,
};
