/* file.keyvalue - sets keys of a file to values. */
#include "core/base/err.h"
#include "core/edit/edit.h"
#include "states/modules/file/backup.h"
#include "states/modules/file/editor.h"
#include "states/state/module.h"

#define ARGS struct keyvalue_args

struct keyvalue_args {
    const char *name;
    struct str separator, key, value, uncomment;
    bool has_key, has_value;
    struct param_strmap key_values, entries;
    int64_t count;
    enum param_tristate append;
    bool prepend, search_only, key_ignore_case, value_ignore_case, show_changes;
    bool ignore_if_missing;
    enum param_tristate create;
    const struct value *backup;
};

/* clang-format off */
static const struct param keyvalue_params[] = {
    PARAM("name", PATH, ARGS, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("key", TEXT, ARGS, key, "a key", PARAM_GIVEN(ARGS, has_key)),
    PARAM("value", TEXT, ARGS, value, "its value", PARAM_GIVEN(ARGS, has_value)),
    PARAM("key_values", STRMAP, ARGS, key_values, "several keys and their values"),
    PARAM("entries", STRMAP, ARGS, entries, "the same; takes precedence over key_values"),
    PARAM("separator", TEXT, ARGS, separator, "the separator, written as it is; surrounding blanks are ignored when matching", .default_text = "="),
    PARAM("uncomment", TEXT, ARGS, uncomment, "comment characters to remove from before a key"),
    PARAM("count", INT, ARGS, count, "how many lines of one key to set; -1: all", .default_text = "1", PARAM_RANGE(-1, INT32_MAX)),
    PARAM("append_if_not_found", TRISTATE, ARGS, append, "append missing keys (default: true; false in a Salt file)"),
    PARAM("prepend_if_not_found", BOOL, ARGS, prepend, "prepend them instead"),
    PARAM("search_only", BOOL, ARGS, search_only, "change nothing: fail if a key has another value"),
    PARAM("key_ignore_case", BOOL, ARGS, key_ignore_case, "ignore case in keys"),
    PARAM("value_ignore_case", BOOL, ARGS, value_ignore_case, "ignore case in values"),
    PARAM("create_if_missing", TRISTATE, ARGS, create, "create a missing file; false: that is an error", .aliases = "create"),
    PARAM("ignore_if_missing", BOOL, ARGS, ignore_if_missing, "a missing file is not an error"),
    PARAM("backup", ANY, ARGS, backup, BACKUP_DOC),
    PARAM("show_changes", BOOL, ARGS, show_changes, "show what changes", .default_text = "true"),
    { 0 },
};
/* clang-format on */

static int keyvalue_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct keyvalue_args *want = args;
    int result = backup_validate(want->backup, diags);

    if (!want->has_key && want->key_values.n == 0 && want->entries.n == 0)
        result = value_diag(diags, where, "no entries (use key/value, key_values, or entries)");
    if (want->has_key && !want->has_value)
        result = value_diag(diags, where, "key \"%.*s\" requires a value", STR_ARG(want->key));
    if (want->has_value && !want->has_key)
        result = value_diag(diags, value_point(where, "value"), "'value' requires 'key'");
    if (want->separator.n == 0)
        result =
            value_diag(diags, value_point(where, "separator"), "'separator' must not be empty");
    return result;
}

/* Later ones override earlier ones of the same key. */
static void put_keyvalue_pair(struct edit_pair *pairs, size_t *n, struct str key, struct str value)
{
    for (size_t i = 0; i < *n; i++)
        if (str_eq(pairs[i].key, key)) {
            pairs[i].value = value;
            return;
        }
    pairs[(*n)++] = (struct edit_pair){ key, value };
}

static const struct edit_pair *collect_pairs(struct state_run *run,
                                             const struct keyvalue_args *want, size_t *ret_n)
{
    struct edit_pair *pairs =
        ARENA_ARRAY(run->arena, struct edit_pair, want->key_values.n + want->entries.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < want->key_values.n; i++)
        put_keyvalue_pair(pairs, &n, str_from(want->key_values.p[i].key),
                          str_from(want->key_values.p[i].value));
    for (size_t i = 0; i < want->entries.n; i++)
        put_keyvalue_pair(pairs, &n, str_from(want->entries.p[i].key),
                          str_from(want->entries.p[i].value));
    if (want->has_key)
        put_keyvalue_pair(pairs, &n, want->key, want->value);
    *ret_n = n;
    return pairs;
}

static int plan_keyvalue_missing(struct state_run *run, const struct keyvalue_args *want,
                                 struct editor_plan *plan, struct err *err)
{
    if (want->ignore_if_missing) {
        buf_clear(&plan->text);
        plan->create = false;
        return 0;
    }
    if (want->create == PARAM_IS_FALSE)
        return err_set(err, ERR_NOT_FOUND, "file %s does not exist and create_if_missing is false",
                       want->name);
    plan->pending = arena_printf(run->arena, "file %s does not exist", want->name);
    return 0;
}

static int plan_keyvalues(struct state_run *run, const void *args, const struct editor_file *file,
                          struct editor_plan *plan, struct err *err)
{
    const struct keyvalue_args *want = args;
    struct edit_keyvalue edit = {
        .separator = want->separator,
        .uncomment = want->uncomment,
        .count = want->count < 0 ? 0 : (size_t)want->count,
        .append = !want->prepend &&
                  (want->append == PARAM_IS_UNSET ? !run->salt : want->append == PARAM_IS_TRUE),
        .prepend = want->prepend,
        .key_ignore_case = want->key_ignore_case,
        .value_ignore_case = want->value_ignore_case,
    };
    struct edit_keyvalue_found found;

    edit.pairs = collect_pairs(run, want, &edit.n);
    if (edit_keyvalue(file->text, &edit, &plan->text, &found, err) < 0)
        return err_wrap(err, "%s", want->name);
    if (want->search_only && (found.changed > 0 || found.missing > 0))
        return err_set(err, ERR_INVALID, "%zu key/value entries of %s are not as expected",
                       found.changed + found.missing, want->name);
    plan->create = true;
    plan->detail = "entries";
    plan->word = arena_printf(run->arena, "%zu", edit.n);
    plan->done = arena_printf(run->arena, "ensured %zu key/value entr%s in %s", edit.n,
                              edit.n == 1 ? "y" : "ies", want->name);
    plan->pending = arena_printf(run->arena, "%zu key/value entr%s pending in %s", found.changed,
                                 found.changed == 1 ? "y" : "ies", want->name);
    if (found.missing > 0)
        plan->remark =
            arena_printf(run->arena, "%zu key%s missing from %s, and append_if_not_found is false",
                         found.missing, found.missing == 1 ? " is" : "s are", want->name);
    return file->exists ? 0 : plan_keyvalue_missing(run, want, plan, err);
}

static struct editor make_keyvalue_editor(const struct keyvalue_args *want)
{
    return (struct editor){
        .path = want->name,
        .plan = plan_keyvalues,
        .hide = !want->show_changes,
        .backup = want->backup,
    };
}

EDITOR_STATE(make_keyvalue_editor)

const struct module module_file_keyvalue = {
    .name = "file.keyvalue",
    .summary = "set keys of a file to values",
    .example = "name: ROOT/login.defs\nseparator: ' '\nkey_values:\n  UMASK: \"027\"\n  "
               "PASS_MAX_DAYS: \"90\"\n",
    .params = keyvalue_params,
    .args_size = sizeof(struct keyvalue_args),
    .flags = MODULE_LOCAL | MODULE_EDITS,
    .validate = keyvalue_validate,
    EDITOR_STATE_FIELDS,
};
