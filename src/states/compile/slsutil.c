#include "states/compile/slsutil.h"

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/compile/builtin.h"
#include "states/compile/merging.h"
#include "states/compile/renderer.h"
#include "states/compile/tree.h"
#include "core/data/json.h"
#include "core/data/yaml.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/render.h"
#include "states/state/host.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* Limits for a file or text, and for a rendered template. */
#define TEXT_MAX ((size_t)16 << 20)

static int need_map(struct render *render, const struct bound_args *bound, const struct value *v)
{
    if (v->kind == VALUE_MAP)
        return 0;
    return render_fail(render, RENDER_TYPE, "%s(): expected a map, got %s", bound->name,
                       value_describe(v));
}

/* --- merging ---------------------------------------------------------------------------- */

typedef int merge_fn(struct render *render, const struct value *base, const struct value *over,
                     enum merging_lists lists, struct value *ret);

/* Keys of the second replace those of the first, whole. */
static int merge_overwrite(struct render *render, const struct value *base,
                           const struct value *over, enum merging_lists lists, struct value *ret)
{
    const struct value_map *more = container_map(render, over);
    const struct value empty = value_map(container_new_map(render, 0));
    struct value_map *map;

    if (merging_make(render, base, &empty, lists, ret) < 0)
        return -1;
    map = container_change_map(render, ret);
    for (size_t i = 0; i < more->count; i++)
        value_map_set(render->arena, map, more->pairs[i].key, more->pairs[i].value);
    return 0;
}

/* A key of both holds the list of both values. */
static int merge_as_list(struct render *render, const struct value *base, const struct value *over,
                         enum merging_lists lists, struct value *ret)
{
    const struct value_map *more = container_map(render, over);
    const struct value empty = value_map(container_new_map(render, 0));
    struct value_map *map;

    if (merging_make(render, base, &empty, lists, ret) < 0)
        return -1;
    map = container_change_map(render, ret);
    for (size_t i = 0; i < more->count; i++) {
        const struct value *below = value_map_find(map, &more->pairs[i].key);
        struct value_list *both = container_new_list(render, 2);

        if (below)
            value_list_push(render->arena, both, *below);
        value_list_push(render->arena, both, more->pairs[i].value);
        value_map_set(render->arena, map, more->pairs[i].key,
                      below ? value_list(both) : more->pairs[i].value);
    }
    return 0;
}

static const struct strategy {
    const char *name;
    merge_fn *merge;
} strategies[] = {
    { "smart", merging_make },        { "recurse", merging_make }, { "overwrite", merge_overwrite },
    { "aggregate", merge_overwrite }, /* for values without !aggregate */
    { "list", merge_as_list },
};

static int find_strategy(struct render *render, const struct bound_args *bound,
                         const struct value *name, merge_fn **ret)
{
    struct str text;

    if (argument_text(render, name, &text) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(strategies); i++)
        if (str_is(text, strategies[i].name)) {
            *ret = strategies[i].merge;
            return 0;
        }
    (void)render_fail(render, RENDER_TYPE, "%s(): unknown strategy '%.*s'", bound->name,
                      STR_ARG(text));
    render_hint(render, "strategies: smart, recurse, overwrite, aggregate, list");
    return -1;
}

static enum merging_lists choose_list_merge(const struct value *merge_lists)
{
    return value_is_true(merge_lists) ? MERGING_JOIN : MERGING_REPLACE;
}

static int call_slsutil_merge(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    merge_fn *merge;

    if (find_strategy(render, bound, &bound->args[2], &merge) < 0 ||
        need_map(render, bound, &bound->args[0]) < 0 ||
        need_map(render, bound, &bound->args[1]) < 0)
        return -1;
    return merge(render, &bound->args[0], &bound->args[1], choose_list_merge(&bound->args[4]), ret);
}

static int call_merge_all(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value made = value_map(container_new_map(render, 0));
    const struct value_list *list;
    merge_fn *merge;

    if (find_strategy(render, bound, &bound->args[1], &merge) < 0)
        return -1;
    if (bound->args[0].kind != VALUE_LIST)
        return render_fail(render, RENDER_TYPE, "%s(): expected a list of maps, got %s",
                           bound->name, value_describe(&bound->args[0]));
    list = container_list(render, &bound->args[0]);
    for (size_t i = 0; i < list->count; i++)
        if (need_map(render, bound, &list->items[i]) < 0 ||
            merge(render, &made, &list->items[i], choose_list_merge(&bound->args[3]), &made) < 0)
            return -1;
    *ret = made;
    return 0;
}

/* In place; without recursive_update as Python's dict.update. */
static int call_update(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value_map *more;
    struct value_map *map;

    if (need_map(render, bound, &bound->args[0]) < 0 ||
        need_map(render, bound, &bound->args[1]) < 0)
        return -1;
    *ret = bound->args[0];
    if (value_is_true(&bound->args[2]))
        return merging_update(render, &bound->args[0], &bound->args[1],
                              choose_list_merge(&bound->args[3]));
    more = container_map(render, &bound->args[1]);
    map = container_change_map(render, &bound->args[0]);
    for (size_t i = 0; i < more->count; i++)
        value_map_set(render->arena, map, more->pairs[i].key, more->pairs[i].value);
    return 0;
}

/* --- rendering a file or a text -------------------------------------------------------------- */

struct source {
    const char *name;
    struct str text;
    struct str pipe;     /* "jinja|yaml" */
    struct value result; /* a text, until it is parsed */
    const struct value *context;
};

static int fail_with_source_diags(struct render *render, const struct bound_args *bound,
                                  const struct diags *diags)
{
    struct err err;

    (void)diags_to_err(diags, &err);
    return render_fail(render, RENDER_HOST, "%s(): %s", bound->name, err.text);
}

/* The variables of a source: Salt renders it from a cache, without the folder that it is in. */
static struct value add_source_place(struct render *render, const struct source *source)
{
    static const struct {
        const char *name, *text;
    } empty[] = { { "tpldir", "." }, { "tpldot", "" }, { "sls", "" }, { "slspath", "" } };
    struct value_map *map = container_new_map(render, ARRAY_LEN(empty) + 1);

    for (size_t i = 0; i < ARRAY_LEN(empty); i++)
        value_map_set(render->arena, map, value_text(empty[i].name), value_text(empty[i].text));
    value_map_set(render->arena, map, value_text("tplfile"),
                  value_str(path_basename(source->name)));
    for (size_t i = 0; source->context->kind == VALUE_MAP && i < source->context->map->count; i++)
        value_map_set(render->arena, map, source->context->map->pairs[i].key,
                      source->context->map->pairs[i].value);
    return value_map(map);
}

/* The output of a Salt template is parsed as in Salt, whatever its name. */
static bool is_salt_source(const struct render *render, const struct source *source)
{
    return render->yaml == YAML_DIALECT_SALT && !str_ends(str_from(source->name), STR(".zy"));
}

static int render_source(struct render *render, const struct bound_args *bound,
                         struct source *source)
{
    const struct value place = add_source_place(render, source);
    struct builtin_context *context = bound->user;
    struct diags diags = DIAGS_INIT(render->arena);
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct renderer *renderer;
    int result;

    if (context->depth >= SLSUTIL_DEPTH_MAX)
        return render_fail(render, RENDER_LIMIT, "%s(): more than %d nested renderings",
                           bound->name, SLSUTIL_DEPTH_MAX);
    renderer = renderer_new_inside(context);
    if (is_salt_source(render, source))
        renderer_speak_salt(renderer);
    result = renderer_run(
        renderer, source->name, source->result.s,
        is_salt_source(render, source) && source->text.p ? &place : source->context, &out, &diags);
    renderer_free(renderer);
    if (result < 0)
        return fail_with_source_diags(render, bound, &diags);
    source->result = value_str(buf_copy(&out, render->arena));
    return 0;
}

static int parse_yaml_source(struct render *render, const struct bound_args *bound,
                             struct source *source)
{
    const struct yaml_options options = { .dialect = YAML_DIALECT_SALT };
    struct diags diags = DIAGS_INIT(render->arena);

    if (yaml_parse(render->arena, source->name, source->result.s, &options, &source->result,
                   &diags) < 0)
        return fail_with_source_diags(render, bound, &diags);
    return 0;
}

static int parse_json_source(struct render *render, const struct bound_args *bound,
                             struct source *source)
{
    struct diags diags = DIAGS_INIT(render->arena);

    if (json_parse(render->arena, source->name, source->result.s, &source->result, &diags) < 0)
        return fail_with_source_diags(render, bound, &diags);
    return 0;
}

static const struct stage {
    const char *name;
    int (*run)(struct render *render, const struct bound_args *bound, struct source *source);
} stages[] = {
    { "jinja", render_source },
    { "yaml", parse_yaml_source },
    { "json", parse_json_source },
};

static int run_stage(struct render *render, const struct bound_args *bound, struct source *source,
                     struct str name)
{
    if (str_is(name, "text"))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(stages); i++) {
        if (!str_is(name, stages[i].name))
            continue;
        if (source->result.kind != VALUE_STR)
            return render_fail(render, RENDER_TYPE, "%s(): '%s' requires text", bound->name,
                               stages[i].name);
        return stages[i].run(render, bound, source);
    }
    (void)render_fail(render, RENDER_NOT_FOUND, "%s(): unknown renderer '%.*s'", bound->name,
                      STR_ARG(name));
    render_hint(render, "renderers: jinja, yaml, json, text");
    return -1;
}

static int read_sls_source(struct render *render, const struct bound_args *bound,
                           struct source *source)
{
    const struct state_host *host = ((struct builtin_context *)bound->user)->host;
    struct str path;
    struct err err;
    int result;

    if (argument_text(render, &bound->args[0], &path) < 0)
        return -1;
    source->name = arena_strndup(render->arena, path.p, path.n);
    if (source->name[0] == '/')
        result = fs_read(render->arena, source->name, TEXT_MAX, &source->text, &err);
    else if (host->tree)
        result = tree_read(host->tree, render->arena, source->name, &source->text, &err);
    else
        result = err_set(&err, ERR_NOT_FOUND, "no states folder");
    if (result == 0 && !source->text.p)
        result = err_set(&err, ERR_NOT_FOUND, "'%s' does not exist", source->name);
    if (result < 0)
        return render_fail(render, RENDER_HOST, "%s(): %s", bound->name, err.text);
    return 0;
}

/* "#!jinja|yaml" in the first line overrides the default. */
static void cut_shebang(struct source *source)
{
    if (!str_starts(source->text, STR("#!")))
        return;
    source->pipe = str_from_offset(str_cut(&source->text, '\n'), 2);
    if (!source->text.p)
        source->text = STR("");
}

static int call_renderer(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *context = value_get(&bound->args[3], "context");
    struct source source = { .name = "string",
                             .context = value_is(context, VALUE_MAP) ? context : &bound->args[3] };

    if (argument_is_none(&bound->args[0]) == argument_is_none(&bound->args[1]))
        return render_fail(render, RENDER_TYPE, "%s(): either path or string is required",
                           bound->name);
    if (argument_text(render, &bound->args[2], &source.pipe) < 0)
        return -1;
    if (argument_is_none(&bound->args[0]) ? argument_text(render, &bound->args[1], &source.text) < 0
                                          : read_sls_source(render, bound, &source) < 0)
        return -1;
    cut_shebang(&source);
    source.result = value_str(source.text);
    while (source.pipe.p) {
        struct str name = str_trim(str_cut(&source.pipe, '|'));

        name = str_cut(&name, ' '); /* words after it are options of the renderer */
        if (run_stage(render, bound, &source, name) < 0)
            return -1;
    }
    *ret = source.result;
    return 0;
}

/* --- variables of a file -------------------------------------------------------------------- */

/* The value that a template prints as JSON; `path` and `data` are its variables. */
static int run_import(struct render *render, const struct bound_args *bound, const char *text,
                      struct value *ret)
{
    static const char *const keys[] = { "path", "data" };
    struct value_map *names = container_new_map(render, ARRAY_LEN(keys));
    const struct value context = value_map(names);
    struct source source = { .name = "import", .context = &context };

    for (size_t i = 0; i < bound->count && i < ARRAY_LEN(keys); i++)
        value_map_set(render->arena, names, value_text(keys[i]), bound->args[i]);
    source.result = value_text(text);
    if (render_source(render, bound, &source) < 0 || parse_json_source(render, bound, &source) < 0)
        return -1;
    *ret = source.result;
    return 0;
}

static int call_load_map(struct render *render, const struct bound_args *bound, struct value *ret)
{
    return run_import(render, bound,
                      "{% import path as file with context %}{{ file | attr(data) | tojson }}",
                      ret);
}

static int call_import_yaml(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    return run_import(render, bound, "{% import_yaml path as data %}{{ data | tojson }}", ret);
}

static int call_import_json(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    return run_import(render, bound, "{% import_json path as data %}{{ data | tojson }}", ret);
}

/* clang-format off */
const struct function slsutil_functions[] = {
    { "jinja.import_json", "path", call_import_json, "a JSON file of the state tree, rendered and parsed" },
    { "jinja.import_yaml", "path", call_import_yaml, "a YAML file of the state tree, rendered and parsed" },
    { "jinja.load_map", "path, data", call_load_map, "a variable of a template of the state tree" },
    { "slsutil.merge", "obj_a, obj_b, strategy='smart', renderer='yaml', merge_lists=false", call_slsutil_merge,
      "both maps, the second on top" },
    { "slsutil.merge_all", "lst, strategy='smart', renderer='yaml', merge_lists=false", call_merge_all,
      "all maps of a list, each on top of those before" },
    { "slsutil.renderer", "path=none, string=none, default_renderer='jinja|yaml', **kwargs", call_renderer,
      "what a file or text renders to; variables of the template are `context`, or other arguments" },
    { "slsutil.update", "dest, upd, recursive_update=true, merge_lists=false", call_update,
      "put one map into another" },
    { 0 },
};
/* clang-format on */
