/* file.serialize - writes data to a file, in one of several formats. */
#include <string.h>

#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/msgpack.h"
#include "core/data/plist.h"
#include "core/data/toml.h"
#include "core/data/yaml.h"
#include "core/data/yaml_dump.h"
#include "core/data/yaml_print.h"
#include "states/modules/file/attrs.h"
#include "states/modules/file/backup.h"
#include "states/modules/file/forms.h"
#include "states/modules/settings/datapath.h"
#include "states/modules/file/desired_file.h"
#include "states/state/module.h"
#include "core/sys/cancel.h"
#include "core/sys/fs.h"
#include "core/sys/site.h"

#define ARGS       struct serialize_args
#define TEXT_MAX   ((size_t)16 << 20)
#define INDENT_MAX 16

/* Limits of libyaml. */
#define YAML_INDENT_MIN 2
#define YAML_INDENT_MAX 9
#define YAML_WIDTH_MAX  1000000

/* In the order of the words; those from FORMAT_PYTHON on are Salt's, and not written here. */
#define FORMATS "json|yaml|configparser|keyvalue|msgpack|toml|plist|python|yamlex"
enum data_format {
    FORMAT_JSON,
    FORMAT_YAML,
    FORMAT_CONFIGPARSER,
    FORMAT_KEYVALUE,
    FORMAT_MSGPACK,
    FORMAT_TOML,
    FORMAT_PLIST,
    FORMAT_PYTHON,
    FORMAT_YAMLEX,
    FORMAT_COUNT,
};

struct serialize_args {
    const char *name;
    const struct value *dataset;
    const char *dataset_pillar;
    enum data_format format;
    const struct value *options;
    const struct value *mode, *dir_mode;
    const char *user, *group;
    bool makedirs, merge, create, replace, show_changes;
    const struct value *backup;
};

/* clang-format off */
static const struct param serialize_params[] = {
    PARAM("name", PATH, ARGS, name, "where the file is", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("dataset", ANY, ARGS, dataset, "the data"),
    PARAM("dataset_pillar", STR, ARGS, dataset_pillar, "path of the data in the settings", .aliases = "dataset_settings"),
    PARAM("serializer", CHOICE, ARGS, format, "the format", .choices = FORMATS, .flags = PARAM_ANY_CASE, .default_text = "yaml", .aliases = "formatter"),
    PARAM("serializer_opts", ANY, ARGS, options, "options of the format, a map or a list of maps: indent (2) and sort_keys (true), the second also for property lists; for YAML also default_flow_style, allow_unicode, explicit_start and width (80); for keyvalue separator ('=')"),
    PARAM("merge_if_exists", BOOL, ARGS, merge, "merge the data into the existing content instead of replacing it"),
    PARAM("mode", ANY, ARGS, mode, "permissions; new files: 0644"),
    PARAM("user", STR, ARGS, user, "owner: a name or number", .aliases = "owner"),
    PARAM("group", STR, ARGS, group, "group: a name or number"),
    PARAM("makedirs", BOOL, ARGS, makedirs, "create missing parent folders, with the owner of the file"),
    PARAM("dir_mode", ANY, ARGS, dir_mode, "permissions of new parent folders (default: mode, and execution for those who can read)"),
    PARAM("create", BOOL, ARGS, create, "create the file when it is not there", .default_text = "true"),
    PARAM("replace", BOOL, ARGS, replace, "replace the content of a file that is there", .default_text = "true"),
    PARAM("backup", ANY, ARGS, backup, BACKUP_DOC),
    PARAM("show_changes", BOOL, ARGS, show_changes, "show what changes", .default_text = "true"),
    PARAM_REFUSED("encoding", "files are UTF-8", .default_text = "utf-8"),
    PARAM_REFUSED("encoding_errors", "a text that is not UTF-8 is an error", .default_text = "strict"),
    PARAM_IDLE("deserializer_opts", "merge_if_exists reads every form"),
    PARAM_REFUSED("tmp_dir", "check_cmd runs when the file is written"),
    PARAM_REFUSED("tmp_ext", "check_cmd runs when the file is written"),
    { 0 },
};
/* clang-format on */

/* --- options -------------------------------------------------------------------------- */

struct style {
    int64_t indent, width;
    bool sort_keys, flow, unicode, start;
    const char *separator;
};

/* clang-format off */
#define STYLE(key, kind, field, doc, ...) PARAM(key, kind, struct style, field, doc, __VA_ARGS__)
static const struct param json_style[] = {
    STYLE("indent", INT, indent, "spaces per level", .default_text = "2", PARAM_RANGE(0, INDENT_MAX)),
    STYLE("sort_keys", BOOL, sort_keys, "sort keys", .default_text = "true"),
    { 0 },
};
static const struct param yaml_style[] = {
    STYLE("indent", INT, indent, "spaces per level", .default_text = "2", PARAM_RANGE(YAML_INDENT_MIN, YAML_INDENT_MAX)),
    STYLE("width", INT, width, "columns of a line", .default_text = "80", PARAM_RANGE(1, YAML_WIDTH_MAX)),
    STYLE("sort_keys", BOOL, sort_keys, "sort keys", .default_text = "true"),
    STYLE("default_flow_style", BOOL, flow, "braces and brackets", .default_text = "false"),
    STYLE("allow_unicode", BOOL, unicode, "characters beyond ASCII as they are", .default_text = "false"),
    STYLE("explicit_start", BOOL, start, "begin with '---'", .default_text = "false"),
    { 0 },
};
static const struct param plist_style[] = {
    STYLE("sort_keys", BOOL, sort_keys, "sort keys", .default_text = "true"),
    { 0 },
};
static const struct param keyvalue_style[] = {
    STYLE("separator", STR, separator, "between a key and its value", .default_text = "="),
    { 0 },
};
/* clang-format on */

static const struct format_row {
    const struct param *style; /* its options */
    const char *refused;       /* why it is not written */
} formats[FORMAT_COUNT] = {
    [FORMAT_JSON] = { json_style, NULL },
    [FORMAT_YAML] = { yaml_style, NULL },
    [FORMAT_CONFIGPARSER] = { params_none, NULL },
    [FORMAT_KEYVALUE] = { keyvalue_style, NULL },
    [FORMAT_MSGPACK] = { params_none, NULL },
    [FORMAT_TOML] = { params_none, NULL },
    [FORMAT_PLIST] = { plist_style, NULL },
    [FORMAT_PYTHON] = { params_none, "only Python reads it; write json" },
    [FORMAT_YAMLEX] = { params_none, "write yaml" },
};

/* A list of maps, as in Salt, is merged into one map. */
static struct value join_options(struct arena *arena, const struct value *options)
{
    struct value_map *all = value_map_new(arena, 2);

    for (size_t i = 0; i < options->list->count; i++) {
        const struct value *item = &options->list->items[i];

        for (size_t k = 0; item->kind == VALUE_MAP && k < item->map->count; k++)
            value_map_set(arena, all, item->map->pairs[k].key, item->map->pairs[k].value);
    }
    return value_at(value_map(all), options);
}

static int read_style(struct arena *arena, const struct serialize_args *want, struct style *ret,
                      struct diags *diags)
{
    const struct value *options = want->options;
    static const struct params_policy policy = { .owner = "serializer_opts", .noun = "option" };
    struct value joined = options ? *options : value_null();

    if (options && options->kind == VALUE_LIST)
        joined = join_options(arena, options);
    *ret = (struct style){ 0 };
    return params_decode(arena, formats[want->format].style, &policy, &joined, ret, diags);
}

static int serialize_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct serialize_args *want = args;
    struct style style;
    int result = 0;

    if (!want->dataset == !want->dataset_pillar)
        result = value_diag(diags, where, "requires 'dataset' or 'dataset_pillar'");
    if (attrs_validate(want->mode, false, diags) < 0 ||
        attrs_validate(want->dir_mode, false, diags) < 0 ||
        backup_validate(want->backup, diags) < 0 ||
        read_style(diags->arena, want, &style, diags) < 0)
        result = -1;
    if (formats[want->format].refused)
        result = value_diag(diags, value_point(where, "serializer"),
                            "this serializer of Salt is not supported: %s",
                            formats[want->format].refused);
    if (want->merge && want->format > FORMAT_YAML)
        result = value_diag(diags, value_point(where, "merge_if_exists"),
                            "'merge_if_exists' requires json or yaml");
    return result;
}

/* --- the text ----------------------------------------------------------------------------- */

static int find_serialized_data(struct state_run *run, const struct serialize_args *want,
                                struct value *ret, struct err *err)
{
    const struct value *found = want->dataset;

    if (want->dataset_pillar) {
        found = datapath_find(state_settings(run), want->dataset_pillar);
        if (!found)
            return err_set(err, ERR_NOT_FOUND, "no '%s' in the settings", want->dataset_pillar);
    }
    *ret = *found;
    return 0;
}

/* The current content of the file; null if it does not exist. `seen` is what was read. */
static int parse_file(struct state_run *run, const struct serialize_args *want,
                      struct fs_info *seen, struct value *ret, struct err *err)
{
    struct diags diags = DIAGS_INIT(run->arena);
    AUTO_SITE struct site site = SITE_INIT;
    static const struct yaml_options options = { .tags = yaml_all_tags }; /* they stay */
    struct str text;
    int result;

    *ret = value_null();
    if (site_walk(&site, want->name, SITE_FOLLOW, err) < 0 ||
        site_read(run->arena, &site, TEXT_MAX, &text, err) < 0)
        return -1;
    *seen = site.info;
    if (!text.p || str_trim(text).n == 0)
        return 0;
    if (want->format == FORMAT_JSON)
        result = json_parse(run->arena, want->name, text, ret, &diags);
    else
        result = yaml_parse(run->arena, want->name, text, &options, ret, &diags);
    return result < 0 ? diags_to_err(&diags, err) : 0;
}

static int print_serialized_json(struct buf *out, const struct value *data,
                                 const struct style *style, struct err *err)
{
    const unsigned lines =
        style->indent > 0 ? JSON_STYLE_INDENT(style->indent) : (unsigned)JSON_STYLE_SPACED;

    if (json_print(out, data, lines | (style->sort_keys ? JSON_STYLE_SORTED : 0), err) < 0)
        return -1;
    buf_add_char(out, '\n');
    return 0;
}

/* As PyYAML does it in a Salt file, or where its options are given. */
static int print_serialized_yaml(struct state_run *run, const struct serialize_args *want,
                                 struct buf *out, const struct value *data,
                                 const struct style *style, struct err *err)
{
    const struct yaml_dump_style as = {
        .indent = (int)style->indent,
        .width = (int)style->width,
        .flow = style->flow,
        .unsorted = !style->sort_keys,
        .ascii = !style->unicode,
        .start = style->start,
    };

    if (!run->salt && !want->options)
        return yaml_print(out, data, err);
    return yaml_dump_styled(run->arena, out, data, &as, err);
}

static int print_form(struct state_run *run, const struct serialize_args *want, struct buf *out,
                      const struct value *data, const struct style *style, struct err *err)
{
    switch (want->format) {
    case FORMAT_JSON: return print_serialized_json(out, data, style, err);
    case FORMAT_CONFIGPARSER: return forms_print_sections(out, data, err);
    case FORMAT_KEYVALUE: return forms_print_lines(out, data, style->separator, err);
    case FORMAT_MSGPACK: return msgpack_encode(out, data, err);
    case FORMAT_TOML: return toml_print(run->arena, out, data, err);
    case FORMAT_PLIST: return plist_print(run->arena, out, data, style->sort_keys, err);
    default: return print_serialized_yaml(run, want, out, data, style, err);
    }
}

static int print_serialized_data(struct state_run *run, const struct serialize_args *want,
                                 const struct value *data, struct str *ret, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct diags diags = DIAGS_INIT(run->arena);
    struct style style;

    if (read_style(run->arena, want, &style, &diags) < 0)
        return diags_to_err(&diags, err);
    if (print_form(run, want, &out, data, &style, err) < 0)
        return -1;
    if (out.full)
        return err_set(err, ERR_LIMIT, "more than %zu bytes", TEXT_MAX);
    *ret = buf_copy(&out, run->arena);
    return 0;
}

static int make_text(struct state_run *run, const struct serialize_args *want,
                     const struct fs_info **ret_seen, struct str *ret, struct err *err)
{
    struct fs_info *seen = ARENA_NEW(run->arena, struct fs_info);
    struct value data, old, merged;

    if (find_serialized_data(run, want, &data, err) < 0)
        return -1;
    if (!want->merge)
        return print_serialized_data(run, want, &data, ret, err);
    if (parse_file(run, want, seen, &old, err) < 0 || cancel_check(err) < 0)
        return -1;
    *ret_seen = seen;
    if (old.kind == VALUE_NULL)
        return print_serialized_data(run, want, &data, ret, err);
    merged = value_merge(run->arena, &old, &data, VALUE_MERGE_REPLACE);
    if (cancel_check(err) < 0)
        return -1;
    return print_serialized_data(run, want, &merged, ret, err);
}

/* --- the file ------------------------------------------------------------------------------ */

static int resolve_merged_file(struct state_run *run, const struct serialize_args *want,
                               struct attrs *folders, struct desired_file *ret, struct err *err)
{
    *ret = (struct desired_file){
        .path = want->name,
        .has_content = true,
        .makedirs = want->makedirs,
        .keep_content = !want->replace,
        .keep_absence = !want->create,
        .hide = !want->show_changes ||
                want->format == FORMAT_MSGPACK, /* bytes are not for a terminal */
        .backup = want->backup,
    };
    if (make_text(run, want, &ret->seen, &ret->content, err) < 0)
        return err_wrap(err, "%s", want->name);
    if (attrs_read(run, want->mode, want->user, want->group, &ret->attrs, err) < 0)
        return -1;
    if (!want->dir_mode)
        return 0;
    ret->folders = &folders->want;
    return attrs_read(run, want->dir_mode, want->user, want->group, folders, err);
}

static int serialize_check(struct state_run *run, const void *args, struct err *err)
{
    struct desired_file wanted;
    struct attrs folders;

    if (resolve_merged_file(run, args, &folders, &wanted, err) < 0)
        return -1;
    return desired_file_check(run, &wanted, err);
}

static int serialize_apply(struct state_run *run, const void *args, struct err *err)
{
    enum desired_file_done done;
    struct desired_file wanted;
    struct attrs folders;

    if (resolve_merged_file(run, args, &folders, &wanted, err) < 0 ||
        desired_file_apply(run, &wanted, &done, err) < 0)
        return -1;
    return desired_file_report(run, &wanted, done, err);
}

const struct module module_file_serialize = {
    .name = "file.serialize",
    .summary =
        "write data to a file, as JSON, YAML, TOML, sections of options, lines, MessagePack or "
        "a property list",
    .example =
        "name: ROOT/settings.json\nserializer: json\ndataset:\n  port: 80\n  hosts: [a, b]\n",
    .params = serialize_params,
    .flags = MODULE_WHOLE | MODULE_LOCAL,
    .args_size = sizeof(struct serialize_args),
    .validate = serialize_validate,
    .check = serialize_check,
    .apply = serialize_apply,
};
