#include "states/modules/gem/gems.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/edit/lines.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ANY_VERSION "*"

int gems_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct gems_args *want = args;

    return validate_text("name", want->name, VALIDATE_ARGUMENT, where, diags) |
           validate_text("version", want->version, VALIDATE_LINE, where, diags) |
           validate_text("source", want->source, VALIDATE_ARGUMENT, where, diags) |
           validate_text("proxy", want->proxy, VALIDATE_ARGUMENT, where, diags) |
           validate_text("ruby", want->ruby, VALIDATE_ARGUMENT, where, diags) |
           validate_text("gem_bin", want->gem_bin, VALIDATE_LINE, where, diags) |
           validate_text("user", want->user, VALIDATE_USER, where, diags);
}

/* --- the program ------------------------------------------------------------------------ */

static const char *find_gem_program(struct state_run *run, const struct gems_args *args)
{
    if (args->gem_bin)
        return args->gem_bin;
    if (args->ruby)
        return tool_find(run->arena, "rvm") ? "rvm" : "rbenv";
    return "gem";
}

bool gems_is_missing(struct state_run *run, const struct gems_args *args)
{
    const char *program = find_gem_program(run, args);

    return !strchr(program, '/') && !tool_find(run->arena, program);
}

/* "rvm 2.7 do gem", or gem of rbenv with the version in its environment. */
int gems_run(struct state_run *run, const struct gems_args *args, struct tool_words *words,
             struct str *ret_output, struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *program = find_gem_program(run, args);
    const char *env[] = { NULL, NULL };
    const struct tool_options options = { .runas = args->user, .env = env };
    struct tool_words all = { 0 };

    tool_add(&tool, &all, program);
    if (!args->gem_bin && args->ruby && strcmp(program, "rvm") == 0) {
        tool_add(&tool, &all, args->ruby);
        tool_add(&tool, &all, "do");
        tool_add(&tool, &all, "gem");
    } else if (!args->gem_bin && args->ruby) {
        env[0] = arena_printf(run->arena, "RBENV_VERSION=%s", args->ruby);
        tool_add(&tool, &all, "exec");
        tool_add(&tool, &all, "gem");
    }
    VEC_EACH (&words->list, word)
        tool_add(&tool, &all, *word);
    return tool_run(&tool, tool_argv(&tool, &all), &options, ret_output, err);
}

/* --- what is installed ------------------------------------------------------------------- */

/* "rake (13.0.6, default: 12.3)"; versions may have a platform after a blank. */
static void read_gem(struct state_run *run, struct str line, struct gems *gems)
{
    struct gem gem = { .name = arena_str(run->arena, str_trim(str_cut(&line, '('))) };

    if (!line.p || gem.name.n == 0)
        return;
    line = str_cut(&line, ')');
    while (line.p) {
        struct str version = str_trim(str_cut(&line, ','));

        if (str_starts(version, STR("default: ")))
            version = str_from_offset(version, sizeof("default: ") - 1);
        version = str_cut(&version, ' ');
        if (version.n > 0)
            VEC_PUSH_IN(run->arena, &gem.versions, arena_str(run->arena, version));
    }
    VEC_PUSH_IN(run->arena, &gems->list, gem);
}

int gems_list(struct state_run *run, const struct gems_args *args, struct gems *ret,
              struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };
    struct str text;
    struct line line;

    *ret = (struct gems){ 0 };
    tool_add(&tool, &words, "list");
    tool_add(&tool, &words, "--local");
    if (gems_run(run, args, &words, &text, err) < 0)
        return -1;
    while (lines_next(&text, &line))
        read_gem(run, line.text, ret);
    return 0;
}

const struct gem *gems_find(const struct gems *gems, struct str name)
{
    VEC_EACH (&gems->list, gem)
        if (str_eq(gem->name, name))
            return gem;
    return NULL;
}

bool gems_has_version(const struct gem *gem, struct str version)
{
    VEC_EACH (&gem->versions, one)
        if (str_eq(*one, version))
            return true;
    return false;
}

/* --- going back -------------------------------------------------------------------------- */

struct value gems_note(struct state_run *run, const struct gems *gems)
{
    struct value_list *all = value_list_new(run->arena, gems->list.n);

    VEC_EACH (&gems->list, gem)
        VEC_EACH (&gem->versions, version) {
            struct value_list *one = value_list_new(run->arena, 2);

            value_list_push(run->arena, one, value_str(gem->name));
            value_list_push(run->arena, one, value_str(*version));
            value_list_push(run->arena, all, value_list(one));
        }
    return value_list(all);
}

int gems_look(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct gems now;

    if (gems_list(run, args, &now, err) < 0)
        return -1;
    *ret = gems_note(run, &now);
    return 0;
}

struct value gems_note_removal(struct state_run *run, const struct gems *gems, const char *name)
{
    struct gems rest = { 0 };

    VEC_EACH (&gems->list, gem)
        if (!str_is(gem->name, name))
            VEC_PUSH_IN(run->arena, &rest.list, *gem);
    return gems_note(run, &rest);
}

struct value gems_note_install(struct state_run *run, const struct gems *gems, const char *name)
{
    struct value all = gems_note(run, gems);
    struct value_list *any = value_list_new(run->arena, 2);

    value_list_push(run->arena, any, value_text(name));
    value_list_push(run->arena, any, value_text(ANY_VERSION));
    value_list_push(run->arena, all.list, value_list(any));
    return all;
}

static int change_gem(struct state_run *run, const struct gems_args *args, const char *verb,
                      struct str name, struct str version, struct err *err)
{
    const struct tool tool = run_tool(run);
    const bool removes = strcmp(verb, "uninstall") == 0;
    struct tool_words words = { 0 };

    tool_add(&tool, &words, verb);
    tool_add(&tool, &words, arena_str(run->arena, name).p);
    tool_add(&tool, &words, "--version");
    tool_add(&tool, &words, arena_str(run->arena, version).p);
    tool_add(&tool, &words, "--ignore-dependencies");
    tool_add(&tool, &words, removes ? "--executables" : "--no-document");
    if (!removes && args->source) {
        tool_add(&tool, &words, "--source");
        tool_add(&tool, &words, args->source);
    }
    return gems_run(run, args, &words, NULL, err);
}

static bool is_noted(const struct value *noted, struct str name, struct str version)
{
    for (size_t i = 0; i < noted->list->count; i++) {
        const struct value *one = &noted->list->items[i];

        if (value_is(one, VALUE_LIST) && one->list->count == 2 &&
            str_eq(one->list->items[0].s, name) &&
            (str_eq(one->list->items[1].s, version) || str_is(one->list->items[1].s, ANY_VERSION)))
            return true;
    }
    return false;
}

/* Removes gems that this run installed: those in `after` and not in `before`. */
static int remove_new(struct state_run *run, const struct gems_args *args, const struct gems *now,
                      size_t *ret_changes, struct err *err)
{
    const struct value *before = state_noted(run, "before"), *after = state_noted(run, "after");

    VEC_EACH (&now->list, gem)
        VEC_EACH (&gem->versions, version) {
            if (is_noted(before, gem->name, *version) || !is_noted(after, gem->name, *version))
                continue;
            (*ret_changes)++;
            if (change_gem(run, args, "uninstall", gem->name, *version, err) < 0)
                return -1;
        }
    return 0;
}

static int install_gone(struct state_run *run, const struct gems_args *args, const struct gems *now,
                        size_t *ret_changes, struct err *err)
{
    const struct value *before = state_noted(run, "before"), *after = state_noted(run, "after");

    for (size_t i = 0; i < before->list->count; i++) {
        const struct value_list *one = before->list->items[i].list;
        const struct str name = one->items[0].s, version = one->items[1].s;
        const struct gem *gem = gems_find(now, name);

        if (is_noted(after, name, version) || (gem && gems_has_version(gem, version)))
            continue;
        (*ret_changes)++;
        if (change_gem(run, args, "install", name, version, err) < 0)
            return -1;
    }
    return 0;
}

int gems_revert(struct state_run *run, const void *args, struct err *err)
{
    size_t changes = 0;
    struct gems now;

    if (!value_is(state_noted(run, "before"), VALUE_LIST) ||
        !value_is(state_noted(run, "after"), VALUE_LIST)) {
        state_unchanged(run);
        return 0;
    }
    if (gems_list(run, args, &now, err) < 0 || remove_new(run, args, &now, &changes, err) < 0 ||
        install_gone(run, args, &now, &changes, err) < 0)
        return -1;
    if (changes == 0)
        state_unchanged(run);
    state_say(run, "restored %zu versions of gems", changes);
    return 0;
}

/* --- sources ----------------------------------------------------------------------------- */

/* A heading, an empty line, then one address a line. */
int gems_sources(struct state_run *run, const struct gems_args *args, struct param_strs *ret,
                 struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };
    VEC(const char *) found = { 0 };
    struct str text;
    struct line line;

    tool_add(&tool, &words, "sources");
    tool_add(&tool, &words, "--list");
    if (gems_run(run, args, &words, &text, err) < 0)
        return -1;
    while (lines_next(&text, &line)) {
        const struct str source = str_trim(line.text);

        if (source.n > 0 && source.p[0] != '*')
            VEC_PUSH_IN(run->arena, &found, arena_str(run->arena, source).p);
    }
    *ret = (struct param_strs){ found.n, found.p };
    return 0;
}

bool gems_has_source(const struct param_strs *sources, const char *source)
{
    for (size_t i = 0; i < sources->n; i++)
        if (strcmp(sources->p[i], source) == 0)
            return true;
    return false;
}

int gems_change_source(struct state_run *run, const struct gems_args *args, const char *option,
                       struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    tool_add(&tool, &words, "sources");
    tool_add(&tool, &words, option);
    tool_add(&tool, &words, args->name);
    return gems_run(run, args, &words, NULL, err);
}
