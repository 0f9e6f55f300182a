/*
 * One load: read the top file, then each reference in its order. A file is rendered
 * before its includes are known, so it sees the settings of the files before it; its
 * includes are merged first, then it is merged on top of them.
 */
#include "states/settings/settings.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/data/value.h"
#include "core/data/shebang.h"
#include "core/data/yaml.h"
#include "language/jinja/filters/builtins.h"
#include "language/jinja/jinja.h"
#include "language/jinja/relocate.h"
#include "language/jinja/trace.h"
#include "states/settings/folder.h"
#include "states/settings/ask.h"
#include "states/settings/seal.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "language/target/top.h"

struct loader {
    struct arena *arena;
    struct diags *diags;
    const struct settings_options *options;
    struct folder folder;
    struct jinja *jinja;
    struct ask ask;
    struct value facts, settings; /* merged so far */
    struct map seen;              /* reference and key -> itself */
    size_t files;
    struct str ref; /* of the file that is rendered */
    struct placeholder_marks marks;
};

/* A file included by the top file or another file. */
struct include {
    struct str ref;
    const struct value *where;    /* the reference, for positions */
    const struct value *defaults; /* extra template variables, or NULL */
    struct str key;               /* where its settings go, with colons; empty: the root */
    bool optional;
    const struct include *outer; /* the including file, or NULL */
    bool is_init;                /* set when it has been found */
};

/* --- rendering --------------------------------------------------------------------------- */

/* Mark the placeholders of a settings file; they are valid nowhere else. */
static int mark_secrets(struct loader *loader, struct str *text, struct err *err)
{
    if (!loader->options->open_secret || !text->p)
        return 0;
    return placeholder_mark(&loader->marks, *text, text, err);
}

static int load_settings_template(void *user, struct str name, struct arena *arena,
                                  struct str *ret_text, struct err *err)
{
    struct loader *loader = user;

    if (folder_read(arena, &loader->folder, name, ret_text, err) < 0)
        return -1;
    return mark_secrets(loader, ret_text, err);
}

static int64_t read_settings_clock(void *user)
{
    (void)user;
    return clock_now();
}

static uint64_t read_settings_random(void *user)
{
    (void)user;
    return chance_number();
}

static void set_settings_key(struct loader *loader, struct value_map *map, const char *key,
                             struct value v)
{
    value_map_set(loader->arena, map, value_text(key), v);
}

static struct value make_file_context(struct loader *loader, const struct value *defaults,
                                      struct str ref)
{
    struct value_map *map = value_map_new(loader->arena, 8);
    struct value_map *opts = value_map_new(loader->arena, 3);
    struct value context = value_map(map);
    const char *environment = loader->options->environment;
    const struct value saltenv = value_text(environment ? environment : "base");

    set_settings_key(loader, opts, "saltenv", saltenv);
    set_settings_key(loader, opts, "pillarenv", saltenv);
    set_settings_key(loader, opts, "id",
                     value_str(arena_str(loader->arena, loader->options->subject.id)));
    set_settings_key(loader, map, "facts", loader->facts);
    set_settings_key(loader, map, "grains", *loader->ask.grains);
    set_settings_key(loader, map, "settings", loader->settings);
    set_settings_key(loader, map, "pillar", loader->settings);
    set_settings_key(loader, map, "opts", value_map(opts));
    set_settings_key(loader, map, "saltenv", saltenv);
    set_settings_key(loader, map, "sls", value_str(arena_str(loader->arena, ref)));
    if (defaults)
        context = value_merge(loader->arena, &context, defaults, VALUE_MERGE_REPLACE);
    return context;
}

/* A template imported without context sees the variables of its file. */
static const struct value *template_context(void *user, const char *template, struct arena *arena)
{
    struct loader *loader = user;
    struct value *all = ARENA_NEW(arena, struct value);

    (void)template;
    *all = make_file_context(loader, NULL, loader->ref);
    return all;
}

static int render_settings_file(struct loader *loader, const char *path, struct str text,
                                const struct value *context, struct buf *out, struct trace *trace)
{
    bool wanted;

    if (shebang_read(path, text, &wanted, loader->diags) < 0)
        return -1;
    if (!wanted)
        buf_add_str(out, text);
    else if (jinja_render_traced(loader->jinja, path, text, context, out, trace, loader->diags) < 0)
        return -1;
    if (out->full)
        return diag_add(loader->diags, (struct place){ .file = path },
                        "settings: the rendered file is over %zu bytes", SETTINGS_RENDERED_MAX);
    return 0;
}

static int open_secrets(struct loader *loader, struct value *doc)
{
    const struct settings_options *options = loader->options;

    if (!options->open_secret)
        return 0;
    return placeholder_fill(&loader->marks, doc, options->open_secret, options->secret_user,
                            loader->diags);
}

/* The document of a file, with its secrets filled in and marked. */
static int read_settings_document(struct loader *loader, const char *path, struct str text,
                                  const struct value *context, struct value *ret)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(SETTINGS_RENDERED_MAX);
    const struct yaml_options options = { .dialect = yaml_dialect_of(path),
                                          .tags = yaml_all_tags }; /* seal_mark knows them */
    struct trace trace = TRACE_INIT(&scratch);
    size_t before = loader->diags->list.n;
    int result;
    struct err err;

    if (mark_secrets(loader, &text, &err) < 0)
        return diag_err(loader->diags, (struct place){ .file = path }, &err);
    result = render_settings_file(loader, path, text, context, &out, &trace);
    if (result == 0) {
        result = yaml_parse(loader->arena, path, buf_view(&out), &options, ret, loader->diags);
        if (!str_eq(text, buf_view(&out)))
            relocate(loader->arena, buf_view(&out), &trace, result < 0 ? NULL : ret, loader->diags,
                     before);
    }
    if (result == 0)
        result = seal_mark(loader->arena, ret, loader->diags);
    if (result == 0)
        result = open_secrets(loader, ret);
    if (result == 0 && loader->options->read)
        loader->options->read(loader->options->read_user, ret);
    if (result < 0)
        placeholder_show(&loader->marks, loader->diags, before);
    return result;
}

/* --- merging -------------------------------------------------------------------------------- */

/* Nest `doc` under `key`; "a:b" from outside in. */
static struct value nest_value(struct loader *loader, struct str key, struct value doc)
{
    while (key.n > 0) {
        struct value_map *map = value_map_new(loader->arena, 1);
        struct str part;
        size_t at;

        for (at = key.n; at > 0 && key.p[at - 1] != ':'; at--)
            continue;
        part = str_from_offset(key, at);
        value_map_set(loader->arena, map, value_str(arena_str(loader->arena, part)), doc);
        doc = value_map(map);
        key = str_slice(key, 0, at > 0 ? at - 1 : 0);
    }
    return doc;
}

static void merge_settings_file(struct loader *loader, struct str key, const struct value *doc)
{
    struct value_map *map = value_map_new_like(loader->arena, doc->map);
    struct value own = value_map(map);

    for (size_t i = 0; i < doc->map->count; i++) {
        const struct value_pair *pair = &doc->map->pairs[i];

        if (pair->key.kind != VALUE_STR || !str_is(pair->key.s, "include"))
            value_map_set(loader->arena, map, pair->key, pair->value);
    }
    own = nest_value(loader, key, own);
    loader->settings = value_merge(loader->arena, &loader->settings, &own, VALUE_MERGE_REPLACE);
}

/* --- files ------------------------------------------------------------------------------------ */

static int load_file(struct loader *loader, struct include *include);

/* ".x" is beside the file, "..x" one folder above; an init file counts as its folder. */
static int resolve_settings_ref(struct loader *loader, const struct include *from,
                                struct include *include)
{
    struct str base = from->ref;
    size_t dots = 0;

    while (dots < include->ref.n && include->ref.p[dots] == '.')
        dots++;
    if (dots == 0)
        return 0;
    for (size_t up = from->is_init ? 1 : 0; up < dots; up++) {
        if (base.n == 0)
            return value_diag(loader->diags, include->where,
                              "include '%.*s' leads outside the settings folder",
                              STR_ARG(include->ref));
        while (base.n > 0 && base.p[base.n - 1] != '.')
            base.n--;
        base.n -= base.n > 0;
    }
    include->ref = str_from(arena_printf(loader->arena, "%.*s%s%.*s", STR_ARG(base),
                                         base.n > 0 && dots < include->ref.n ? "." : "",
                                         STR_ARG(str_from_offset(include->ref, dots))));
    return 0;
}

/* The options of a reference: {key: 'a:b', defaults: {...}}. */
static int read_settings_rules(struct loader *loader, const struct value *rules,
                               struct include *include)
{
    if (rules->kind == VALUE_NULL)
        return 0;
    if (rules->kind != VALUE_MAP)
        return value_diag(loader->diags, rules, "include expects 'key' and 'defaults' here, not %s",
                          value_describe(rules));
    for (size_t i = 0; i < rules->map->count; i++) {
        const struct value_pair *pair = &rules->map->pairs[i];
        bool is_text = pair->key.kind == VALUE_STR;

        if (is_text && str_is(pair->key.s, "key") && pair->value.kind == VALUE_STR)
            include->key = pair->value.s;
        else if (is_text && str_is(pair->key.s, "defaults") && pair->value.kind == VALUE_MAP)
            include->defaults = &pair->value;
        else
            return value_diag(loader->diags, &pair->key,
                              "include expects a text as 'key' or a map as 'defaults' here");
    }
    return 0;
}

static int read_settings_include(struct loader *loader, const struct include *from,
                                 const struct value *item)
{
    struct include include = { .where = item, .key = from->key, .outer = from };
    const struct value *name = item;

    if (item->kind == VALUE_MAP && item->map->count == 1) {
        name = &item->map->pairs[0].key;
        if (read_settings_rules(loader, &item->map->pairs[0].value, &include) < 0)
            return -1;
    }
    if (name->kind != VALUE_STR || name->s.n == 0)
        return value_diag(loader->diags, item, "include must be a list of references, not %s",
                          value_describe(item));
    include.where = name;
    include.ref = name->s;
    if (resolve_settings_ref(loader, from, &include) < 0)
        return -1;
    return load_file(loader, &include);
}

static int read_settings_includes(struct loader *loader, const struct include *from,
                                  const struct value *doc)
{
    const struct value *list = value_get(doc, "include");
    int result = 0;

    if (!list || list->kind == VALUE_NULL)
        return 0;
    if (list->kind != VALUE_LIST)
        return value_diag(loader->diags, list, "include must be a list of references, not %s",
                          value_describe(list));
    for (size_t i = 0; i < list->list->count; i++)
        result |= read_settings_include(loader, from, &list->list->items[i]);
    return result;
}

static int report_missing_file(struct loader *loader, const struct include *include)
{
    const char *near = folder_suggest(loader->arena, &loader->folder, include->ref);
    const char *path = folder_path(loader->arena, include->ref);

    if (include->optional)
        return 0;
    (void)value_diag(loader->diags, include->where, "no settings file '%.*s'",
                     STR_ARG(include->ref));
    if (near)
        diag_hint(loader->diags, "did you mean '%s'?", near);
    else
        diag_hint(loader->diags, "expected %s.zy, %s/init.zy, %s.sls or %s/init.sls", path, path,
                  path, path);
    return -1;
}

/* True when the file has been merged already, or is being merged. */
static bool is_seen(struct loader *loader, const struct include *include)
{
    char *name =
        arena_printf(loader->arena, "%.*s %.*s", STR_ARG(include->ref), STR_ARG(include->key));

    return map_set(&loader->seen, str_from(name), loader) != NULL;
}

static int check_settings_limits(struct loader *loader, const struct include *include)
{
    size_t depth = 0;

    for (const struct include *outer = include->outer; outer; outer = outer->outer)
        depth++;
    if (depth > SETTINGS_DEPTH_MAX)
        return value_diag(loader->diags, include->where, "includes exceed the limit of %d levels",
                          SETTINGS_DEPTH_MAX);
    if (++loader->files > SETTINGS_FILES_MAX)
        return value_diag(loader->diags, include->where, "more than the limit of %d settings files",
                          SETTINGS_FILES_MAX);
    return 0;
}

/* Circular includes end by themselves: each file is merged once for each key. */
static int load_file(struct loader *loader, struct include *include)
{
    struct folder_file file;
    struct value context, doc;
    struct err err;

    if (is_seen(loader, include))
        return 0;
    if (check_settings_limits(loader, include) < 0)
        return -1;
    if (folder_find(loader->arena, &loader->folder, include->ref, &file, &err) < 0)
        return value_diag(loader->diags, include->where, "settings: %s", err.text);
    if (!file.path)
        return report_missing_file(loader, include);
    include->is_init = file.is_init;
    loader->ref = include->ref;
    context = make_file_context(loader, include->defaults, include->ref);
    if (read_settings_document(loader, file.path, file.text, &context, &doc) < 0)
        return -1;
    if (doc.kind == VALUE_NULL)
        return 0;
    if (doc.kind != VALUE_MAP)
        return value_diag(loader->diags, &doc, "settings must be a map, got %s",
                          value_describe(&doc));
    if (read_settings_includes(loader, include, &doc) < 0)
        return -1;
    merge_settings_file(loader, include->key, &doc);
    return 0;
}

/* --- the top file ------------------------------------------------------------------------ */

static int find_top(struct loader *loader, const char **ret_path, struct str *ret_text)
{
    static const char *const names[] = { "top.zy", "top.sls" };
    struct err err;

    ret_text->p = NULL;
    for (size_t i = 0; i < ARRAY_LEN(names) && !ret_text->p; i++) {
        *ret_path = names[i];
        if (folder_read(loader->arena, &loader->folder, str_from(names[i]), ret_text, &err) < 0)
            return diag_add(loader->diags, (struct place){ 0 }, "settings: %s", err.text);
    }
    if (ret_text->p || !folder_has_files(loader->arena, &loader->folder))
        return 0;
    (void)diag_add(loader->diags, (struct place){ 0 }, "settings: no top.zy in '%s'",
                   loader->options->folder);
    diag_hint(loader->diags, "it assigns files to machines: base: {'*': [NAME]}");
    return -1;
}

static int load_all(struct loader *loader)
{
    struct value context = make_file_context(loader, NULL, STR("top")), doc;
    struct top_refs refs = { VEC_INIT };
    const char *path = NULL;
    struct str text;
    int result = 0;

    if (find_top(loader, &path, &text) < 0)
        return -1;
    if (!text.p)
        return 0;
    if (read_settings_document(loader, path, text, &context, &doc) < 0 ||
        top_read(loader->arena, &doc, &loader->options->subject,
                 &(struct top_options){ loader->options->groups, loader->options->environment },
                 &refs, loader->diags) < 0)
        return -1;
    VEC_EACH (&refs.list, ref) {
        struct include include = { .ref = ref->name->s,
                                   .where = ref->name,
                                   .optional = ref->optional };

        result |= load_file(loader, &include);
    }
    return result;
}

int settings_load(struct arena *arena, const struct settings_options *options,
                  const struct value **ret_settings, struct diags *diags)
{
    struct loader loader = { .arena = arena, .diags = diags, .options = options };
    struct jinja_options jinja = {
        .lenient = !options->strict_templates,
        .builtins = options->builtins ? options->builtins : &filter_builtins,
        .load = load_settings_template,
        .about = template_context,
        .now = read_settings_clock,
        .random = read_settings_random,
        .user = &loader,
    };
    unsigned char random[PLACEHOLDER_RANDOM_SIZE];
    struct value *settings;
    int result;

    chance_bytes(random, sizeof(random));
    placeholder_marks_init(&loader.marks, arena, random);
    loader.folder = (struct folder){ options->folder, options->files };
    loader.seen = (struct map)MAP_INIT_IN(arena);
    loader.facts =
        options->subject.facts ? *options->subject.facts : value_map(value_map_new(arena, 0));
    loader.settings = value_map(value_map_new(arena, 0));
    loader.ask = (struct ask){ .facts = &loader.facts, .settings = &loader.settings };
    loader.ask.salt = options->salt;
    loader.ask.salt_names = options->salt_names;
    loader.ask.salt_user = options->salt_user;
    loader.ask.folder = &loader.folder;
    loader.ask.basket = options->basket;
    loader.ask.basket_user = options->basket_user;
    loader.ask.grains = options->grains ? options->grains : &loader.facts;
    loader.jinja = jinja_new(&jinja);
    ask_add(loader.jinja, arena, &loader.ask);
    result = load_all(&loader);
    jinja_free(loader.jinja);
    if (result < 0)
        return -1;
    settings = ARENA_NEW(arena, struct value);
    *settings = loader.settings;
    *ret_settings = settings;
    return 0;
}
