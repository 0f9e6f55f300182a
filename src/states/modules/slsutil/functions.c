/* Salt's slsutil for texts and files; the functions on template values are in
 * states/compile/slsutil.c. */
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/plist.h"
#include "core/data/toml.h"
#include "core/data/yaml.h"
#include "core/data/yaml_dump.h"
#include "core/data/yaml_print.h"
#include "states/modules/slsutil/banner.h"
#include "states/state/module.h"
#include "core/sys/path.h"

#define ARGS     struct slsutil_args
#define TEXT_MAX ((size_t)16 << 20)

struct slsutil_args {
    const struct value *value;
    const char *yes, *no, *path, *saltenv;
    struct str text;
    int serializer;
    bool flow;
    struct param_strs names;
};

/* The first two are read as well. */
enum serializer { SERIALIZER_JSON, SERIALIZER_YAML, SERIALIZER_TOML, SERIALIZER_PLIST };

/* clang-format off */
static const struct param boolstr_params[] = {
    PARAM("value", ANY, ARGS, value, "the value", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("true", STR, ARGS, yes, "the answer when it is true", .default_text = "true"),
    PARAM("false", STR, ARGS, no, "the answer when it is not", .default_text = "false"),
    { 0 },
};
static const struct param serialize_params[] = {
    PARAM("serializer", CHOICE, ARGS, serializer, "the format", .choices = "json|yaml|toml|plist", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("obj", ANY, ARGS, value, "the value", .flags = PARAM_REQUIRED),
    PARAM("default_flow_style", BOOL, ARGS, flow, "of YAML: one line", .default_text = "true"),
    { 0 },
};
static const struct param deserialize_params[] = {
    PARAM("serializer", CHOICE, ARGS, serializer, "the format", .choices = "json|yaml", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("stream_or_string", TEXT, ARGS, text, "the text", .flags = PARAM_REQUIRED),
    { 0 },
};
static const struct param path_params[] = {
    PARAM("path", STR, ARGS, path, "a path of the state tree", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base"),
    { 0 },
};
static const struct param findup_params[] = {
    PARAM("startpath", STR, ARGS, path, "the folder to start at", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("filenames", STRS, ARGS, names, "names to search for, in order of preference", .flags = PARAM_REQUIRED),
    PARAM("saltenv", STR, ARGS, saltenv, "ignored: there is one tree", .default_text = "base"),
    { 0 },
};
/* clang-format on */

static int call_boolstr(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct slsutil_args *want = args;

    (void)run;
    (void)err;
    *ret = value_text(value_is_true(want->value) ? want->yes : want->no);
    return 0;
}

static int print_slsutil_value(struct state_run *run, const struct slsutil_args *want,
                               struct buf *out, struct err *err)
{
    switch ((enum serializer)want->serializer) {
    case SERIALIZER_JSON: return json_print(out, want->value, JSON_STYLE_SPACED, err);
    case SERIALIZER_TOML: return toml_print(run->arena, out, want->value, err);
    case SERIALIZER_PLIST: return plist_print(run->arena, out, want->value, true, err);
    case SERIALIZER_YAML: break;
    }
    return want->flow ? yaml_print_flow(out, want->value, err)
                      : yaml_dump(run->arena, out, want->value, err);
}

static int call_serialize(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    const struct slsutil_args *want = args;
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct str text;

    if (print_slsutil_value(run, want, &out, err) < 0)
        return -1;
    if (out.full)
        return err_set(err, ERR_LIMIT, "more than %zu bytes", TEXT_MAX);
    text = buf_copy(&out, run->arena);
    *ret = value_str(want->serializer <= SERIALIZER_YAML ? str_trim_right(text) : text);
    return 0;
}

static int call_deserialize(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const struct yaml_options options = { .dialect = YAML_DIALECT_SALT, .unordered = true };
    const struct slsutil_args *want = args;
    struct diags diags = DIAGS_INIT(run->arena);
    int result;

    if (want->serializer == SERIALIZER_JSON)
        result = json_parse(run->arena, NULL, want->text, ret, &diags);
    else
        result = yaml_parse(run->arena, NULL, want->text, &options, ret, &diags);
    if (result < 0)
        (void)diags_to_err(&diags, err);
    return result;
}

/* --- paths of the state tree ------------------------------------------------------------------ */

enum found { FOUND_NOTHING, FOUND_FILE, FOUND_FOLDER };

static enum found find_source_path(const struct value_list *all, struct str path)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct str name = all->items[i].s;

        if (str_eq(name, path))
            return FOUND_FILE;
        if (path.n == 0 || (str_starts(name, path) && name.p[path.n] == '/'))
            return FOUND_FOLDER;
    }
    return FOUND_NOTHING;
}

/* Below the root of the tree: without the scheme, '.', '..' and slashes at the ends. */
static struct str make_plain_path(struct state_run *run, const char *path)
{
    static const char *const schemes[] = { "salt://", "zester://" };
    struct str rest = str_from(path);

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_starts(rest, str_from(schemes[i])))
            rest = str_from_offset(rest, str_from(schemes[i]).n);
    return str_from_offset(str_from(path_normalise(run->arena, path_join(run->arena, "/", rest.p))),
                           1);
}

static int look_up_source(struct state_run *run, const char *path, enum found *ret, struct err *err)
{
    struct value_list *all;

    if (state_source_list(run, "salt://", &all, err) < 0)
        return -1;
    *ret = find_source_path(all, make_plain_path(run, path));
    return 0;
}

static int call_slsutil_file_exists(struct state_run *run, const void *args, struct value *ret,
                                    struct err *err)
{
    enum found found;

    if (look_up_source(run, ((const struct slsutil_args *)args)->path, &found, err) < 0)
        return -1;
    *ret = value_bool(found == FOUND_FILE);
    return 0;
}

static int call_dir_exists(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    enum found found;

    if (look_up_source(run, ((const struct slsutil_args *)args)->path, &found, err) < 0)
        return -1;
    *ret = value_bool(found == FOUND_FOLDER);
    return 0;
}

static int call_path_exists(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    enum found found;

    if (look_up_source(run, ((const struct slsutil_args *)args)->path, &found, err) < 0)
        return -1;
    *ret = value_bool(found != FOUND_NOTHING);
    return 0;
}

/* The nearest of some files, from a folder upwards. */
static int call_findup(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct slsutil_args *want = args;
    struct value_list *all;
    const char *folder;

    if (state_source_list(run, "salt://", &all, err) < 0)
        return -1;
    folder = arena_printf(run->arena, "/%.*s", STR_ARG(make_plain_path(run, want->path)));
    if (find_source_path(all, str_from(folder + 1)) != FOUND_FOLDER)
        return err_set(err, ERR_NOT_FOUND, "'%s' is not a folder of the state tree", want->path);
    for (;; folder = path_dirname(run->arena, folder)) {
        for (size_t i = 0; i < want->names.n; i++) {
            const char *path = path_join(run->arena, folder, want->names.p[i]) + 1;

            if (find_source_path(all, str_from(path)) == FOUND_FILE) {
                *ret = value_text(path);
                return 0;
            }
        }
        if (folder[1] == '\0')
            break;
    }
    return err_set(err, ERR_NOT_FOUND, "no file '%s' in '%s' or above it", want->names.p[0],
                   want->path);
}

/* clang-format off */
#define ROW(table, function) .params = table, .args_size = sizeof(ARGS), .call = function

const struct module functions_slsutil[] = {
    { .name = "slsutil.banner", .summary = "a comment box that marks a file as managed", .params = banner_params, .args_size = sizeof(struct banner_args), .call = banner_call },
    { .name = "slsutil.boolstr", .summary = "one of two texts, by a boolean", ROW(boolstr_params, call_boolstr) },
    { .name = "slsutil.deserialize", .summary = "parse a text as JSON or YAML", ROW(deserialize_params, call_deserialize) },
    { .name = "slsutil.dir_exists", .summary = "whether the state tree has a folder", ROW(path_params, call_dir_exists) },
    { .name = "slsutil.file_exists", .summary = "whether the state tree has a file", ROW(path_params, call_slsutil_file_exists) },
    { .name = "slsutil.findup", .summary = "the nearest of some files of the state tree, from a folder upwards", ROW(findup_params, call_findup) },
    { .name = "slsutil.path_exists", .summary = "whether the state tree has a file or folder", ROW(path_params, call_path_exists) },
    { .name = "slsutil.serialize", .summary = "print a value as JSON or YAML", ROW(serialize_params, call_serialize) },
    { 0 },
};
/* clang-format on */
