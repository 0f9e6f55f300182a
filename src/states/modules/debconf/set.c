/* debconf.set - answers the questions of a package. */
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/modules/debconf/selections.h"
#include "states/modules/file/content.h"
#include "states/state/module.h"

#define ARGS struct set_args

struct set_args {
    const char *name;
    const struct value *data;
};

/* clang-format off */
static const struct param set_params[] = {
    PARAM("name", STR, ARGS, name, "the package", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("data", MAP, ARGS, data, "questions, each with 'type' (string, boolean, select, multiselect, password, note, text, title) and 'value'", .flags = PARAM_REQUIRED),
    { 0 },
};
/* clang-format on */

/* A boolean in debconf's form: True and "True" are true. */
static int read_boolean(const char *question, const char **value, struct err *err)
{
    static const char *const words[] = { "true", "false" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(*value, words[i]) == 0) {
            *value = words[i];
            return 0;
        }
    return err_set(err, ERR_INVALID, "question '%s' is a boolean: its value must be true or false",
                   question);
}

static int read_debconf_value(struct arena *arena, const char *question, const struct value *v,
                              const char **ret, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (v && v->kind == VALUE_MAP)
        return err_set(err, ERR_INVALID, "the value of '%s' must be text", question);
    for (size_t i = 0; v && v->kind == VALUE_LIST && i < v->list->count; i++) {
        buf_add_text(&text, i > 0 ? ", " : "");
        content_add_scalar(&text, &v->list->items[i]);
    }
    if (v && v->kind != VALUE_LIST && v->kind != VALUE_NULL)
        content_add_scalar(&text, v);
    *ret = buf_copy(&text, arena).p;
    return 0;
}

static int read_question(struct arena *arena, const char *package, const struct value_pair *pair,
                         struct selections *all, struct err *err)
{
    struct selection one = { .package = package };

    if (pair->key.kind != VALUE_STR || pair->value.kind != VALUE_MAP)
        return err_set(err, ERR_INVALID, "each question must be a map with 'type' and 'value'");
    one.question = pair->key.s.p;
    one.type = value_get_text(&pair->value, "type");
    if (!one.type)
        return err_set(err, ERR_INVALID, "question '%s' has no type", one.question);
    if (read_debconf_value(arena, one.question, value_get(&pair->value, "value"), &one.value, err) <
        0)
        return -1;
    if (strcmp(one.type, "boolean") == 0 && read_boolean(one.question, &one.value, err) < 0)
        return -1;
    return selections_add(arena, all, &one, err);
}

static int read_questions(struct arena *arena, const struct set_args *want, struct selections *all,
                          struct err *err)
{
    *all = (struct selections){ 0 };
    for (size_t i = 0; i < want->data->map->count; i++)
        if (read_question(arena, want->name, &want->data->map->pairs[i], all, err) < 0)
            return -1;
    return 0;
}

static int set_validate(const void *args, const struct value *where, struct diags *diags)
{
    struct selections ignored;
    struct err err;

    (void)where;
    if (read_questions(diags->arena, args, &ignored, &err) < 0)
        return value_diag(diags, ((const struct set_args *)args)->data, "%s", err.text);
    return 0;
}

static int set_check(struct state_run *run, const void *args, struct err *err)
{
    struct selections all;

    return read_questions(run->arena, args, &all, err) < 0 ? -1 : selections_check(run, &all, err);
}

static int set_apply(struct state_run *run, const void *args, struct err *err)
{
    struct selections all;

    return read_questions(run->arena, args, &all, err) < 0 ? -1 : selections_apply(run, &all, err);
}

static int set_revert(struct state_run *run, const void *args, struct err *err)
{
    (void)args;
    return selections_revert(run, err);
}

const struct module module_debconf_set = {
    .name = "debconf.set",
    .summary = "answer the questions of a package",
    .details = "The package need not be installed yet: its installation uses the answers. Answers "
               "of the type password are never shown.",
    .example = "name: dash\ndata:\n  dash/sh: {type: boolean, value: false}\n",
    .params = set_params,
    .args_size = sizeof(struct set_args),
    .lock = SELECTIONS_LOCK,
    .validate = set_validate,
    .check = set_check,
    .apply = set_apply,
    .revert = set_revert,
};
