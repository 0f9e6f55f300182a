#include "states/modules/ini/inifile.h"

#include <strings.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/edit/edit.h"

struct text_args {
    const char *text;
};

/* A scalar as the file has it: 1.10 is not 1.1. */
static int read_ini_text(struct arena *arena, const struct value *v, struct str *ret,
                         struct diags *diags)
{
    static const struct param param[] = {
        PARAM("value", STR, struct text_args, text, "the value of an option"),
        { 0 },
    };
    static const struct params_policy policy = { 0 };
    struct text_args args = { 0 };

    *ret = (struct str){ NULL, 0 };
    if (v->kind == VALUE_NULL)
        return 0;
    if (params_decode_one(arena, param, &policy, v, &args, diags) < 0)
        return -1;
    *ret = str_from(args.text);
    return 0;
}

static struct ini_format format_of(const struct inifile_args *args)
{
    return (struct ini_format){ .separator = args->separator, .tight = args->no_spaces };
}

static int report_item(struct diags *diags, const struct value *where, const struct err *err)
{
    return value_diag(diags, where, "%s", err->text);
}

static int add_ini_option(struct arena *arena, const struct inifile_args *args, struct str section,
                          const struct value_pair *pair, struct inifile_wishes *ret,
                          struct diags *diags)
{
    const struct ini_format format = format_of(args);
    struct ini_item item = { .kind = INI_OPTION, .section = section };
    struct err err;

    if (read_ini_text(arena, &pair->key, &item.key, diags) < 0 ||
        read_ini_text(arena, &pair->value, &item.value, diags) < 0)
        return -1;
    if (ini_check_key(&format, item.key, &err) < 0)
        return report_item(diags, &pair->key, &err);
    if (ini_check_value(item.value, &err) < 0)
        return report_item(diags, &pair->value, &err);
    VEC_PUSH_IN(arena, &ret->list, item);
    return 0;
}

static int add_ini_keys(struct arena *arena, const struct inifile_args *args, struct str section,
                        const struct value *keys, struct inifile_wishes *ret, struct diags *diags)
{
    int result = 0;

    for (size_t i = 0; keys->kind == VALUE_LIST && i < keys->list->count; i++) {
        const struct value_pair pair = { .key = keys->list->items[i], .value = value_null() };

        result |= add_ini_option(arena, args, section, &pair, ret, diags);
    }
    for (size_t i = 0; keys->kind == VALUE_MAP && i < keys->map->count; i++) {
        const struct value_pair pair = { .key = keys->map->pairs[i].key, .value = value_null() };

        result |= add_ini_option(arena, args, section, &pair, ret, diags);
    }
    return result;
}

static int add_ini_values(struct arena *arena, const struct inifile_args *args, struct str section,
                          const struct value *options, struct inifile_wishes *ret,
                          struct diags *diags)
{
    const struct ini_item header = { .kind = INI_HEADER, .section = section };
    int result = 0;

    VEC_PUSH_IN(arena, &ret->list, header);
    if (options->kind == VALUE_LIST)
        return value_diag(diags, options, "section '%.*s' must be a map of options to values",
                          STR_ARG(section));
    for (size_t i = 0; i < options->map->count; i++)
        result |= add_ini_option(arena, args, section, &options->map->pairs[i], ret, diags);
    return result;
}

static int add_section(struct arena *arena, const struct inifile_args *args,
                       const struct value_pair *pair, bool with_values, struct inifile_wishes *ret,
                       struct diags *diags)
{
    struct str section;
    struct err err;

    if (pair->value.kind != VALUE_MAP && pair->value.kind != VALUE_LIST) {
        const struct value_pair option = { pair->key, with_values ? pair->value : value_null() };

        return add_ini_option(arena, args, (struct str){ NULL, 0 }, &option, ret, diags);
    }
    if (read_ini_text(arena, &pair->key, &section, diags) < 0)
        return -1;
    if (ini_check_section(section, &err) < 0)
        return report_item(diags, &pair->key, &err);
    return (with_values ? add_ini_values : add_ini_keys)(arena, args, section, &pair->value, ret,
                                                         diags);
}

static int read_ini_options(struct arena *arena, const struct inifile_args *args, bool with_values,
                            struct inifile_wishes *ret, struct diags *diags)
{
    int result = 0;

    *ret = (struct inifile_wishes){ 0 };
    for (size_t i = 0; args->sections && i < args->sections->map->count; i++)
        result |= add_section(arena, args, &args->sections->map->pairs[i], with_values, ret, diags);
    return result;
}

static int add_ini_name(struct arena *arena, const struct value *name, struct inifile_wishes *ret,
                        struct diags *diags)
{
    struct ini_item item = { .kind = INI_HEADER };
    struct err err;

    if (read_ini_text(arena, name, &item.section, diags) < 0)
        return -1;
    if (ini_check_section(item.section, &err) < 0)
        return report_item(diags, name, &err);
    VEC_PUSH_IN(arena, &ret->list, item);
    return 0;
}

static int read_ini_sections(struct arena *arena, const struct inifile_args *args,
                             struct inifile_wishes *ret, struct diags *diags)
{
    const struct value *names = args->sections;
    int result = 0;

    *ret = (struct inifile_wishes){ 0 };
    if (!names || names->kind == VALUE_NULL)
        return 0;
    if (names->kind != VALUE_LIST && names->kind != VALUE_MAP)
        return value_diag(diags, names, "'sections' must be a list of names");
    for (size_t i = 0; names->kind == VALUE_LIST && i < names->list->count; i++)
        result |= add_ini_name(arena, &names->list->items[i], ret, diags);
    for (size_t i = 0; names->kind == VALUE_MAP && i < names->map->count; i++)
        result |= add_ini_name(arena, &names->map->pairs[i].key, ret, diags);
    return result;
}

static int read_wishes(struct arena *arena, const struct inifile_goal *goal,
                       const struct inifile_args *args, struct inifile_wishes *ret,
                       struct diags *diags)
{
    return goal->content == INIFILE_SECTIONS
               ? read_ini_sections(arena, args, ret, diags)
               : read_ini_options(arena, args, goal->content == INIFILE_VALUES, ret, diags);
}

/* --- arguments -------------------------------------------------------------------------- */

static int validate_format(const struct inifile_args *args, const struct value *where,
                           struct diags *diags)
{
    static const char *const encodings[] = { "utf-8", "utf8", "utf_8", "ascii", "us-ascii" };
    size_t i = 0;

    if (args->separator.n == 0)
        return value_diag(diags, value_point(where, "separator"), "'separator' must not be empty");
    while (args->encoding && i < ARRAY_LEN(encodings) &&
           strcasecmp(args->encoding, encodings[i]) != 0)
        i++;
    if (i == ARRAY_LEN(encodings))
        return value_diag(diags, value_point(where, "encoding"),
                          "'encoding' '%s' is not supported: files are read and written as UTF-8",
                          args->encoding);
    return 0;
}

int inifile_validate(const struct inifile_goal *goal, const struct inifile_args *args,
                     const struct value *where, struct diags *diags)
{
    struct inifile_wishes ignored;

    return validate_format(args, where, diags) < 0
               ? -1
               : read_wishes(diags->arena, goal, args, &ignored, diags);
}

/* --- edits ------------------------------------------------------------------------------ */

int inifile_step(struct inifile_draft *draft, struct buf *out, struct err *err)
{
    int result = edit_finish(out, err);

    if (result == 0 && !str_eq(buf_view(out), draft->text)) {
        draft->text = buf_copy(out, draft->arena);
        draft->changes++;
    }
    buf_clear(out);
    return result;
}

static void describe_plan(struct state_run *run, const struct inifile_goal *goal, size_t changes,
                          const char *path, struct editor_plan *plan)
{
    const bool one = changes == 1;

    plan->pending = arena_printf(run->arena, "%zu %s%s %s %s", changes, goal->noun, one ? "" : "s",
                                 one ? goal->one_differs : goal->many_differ, path);
    plan->done = arena_printf(run->arena, "%s %zu %s%s %s %s", goal->did, changes, goal->noun,
                              one ? "" : "s", goal->where, path);
    plan->remark = arena_printf(run->arena, "%s%s%s", goal->remark, path, goal->remark_end);
}

int inifile_plan(struct state_run *run, const struct inifile_goal *goal,
                 const struct inifile_args *args, const struct editor_file *file,
                 struct editor_plan *plan, struct err *err)
{
    struct inifile_draft draft = { run->arena, format_of(args), file->text, 0 };
    struct diags diags = DIAGS_INIT(run->arena);
    struct inifile_wishes wishes;

    if (read_wishes(run->arena, goal, args, &wishes, &diags) < 0)
        return diags_to_err(&diags, err);
    if (goal->edit(&draft, args, &wishes, &plan->text, err) < 0)
        return err_wrap(err, "%s", args->name);
    buf_add_str(&plan->text, draft.text);
    describe_plan(run, goal, draft.changes, args->name, plan);
    return 0;
}
