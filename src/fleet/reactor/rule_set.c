#include "fleet/reactor/rule_set.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/glob.h"
#include "core/base/mem.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "fleet/reactor/rule_lint.h"

struct loader {
    struct rule_set *set;
    struct arena scratch; /* the document */
    struct diags *diags, *lints;
};

/* --- refs ------------------------------------------------------------------------- */

static bool is_rule_word(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!((text.p[i] >= 'a' && text.p[i] <= 'z') || (text.p[i] >= 'A' && text.p[i] <= 'Z') ||
              (text.p[i] >= '0' && text.p[i] <= '9') || text.p[i] == '_' || text.p[i] == '-'))
            return false;
    return text.n > 0;
}

static bool is_rule_ref(struct str ref)
{
    if (!str_starts(ref, STR(RULE_SET_NAMESPACE ".")))
        return false;
    while (ref.p)
        if (!is_rule_word(str_cut(&ref, '.')))
            return false;
    return true;
}

/* The path in the tree: without the namespace, with slashes and the suffix. */
static struct str path_of_ref(struct arena *arena, struct str ref)
{
    struct str rest = str_from_offset(ref, strlen(RULE_SET_NAMESPACE "."));
    char *path = arena_printf(arena, "%.*s" RULE_SET_SUFFIX, STR_ARG(rest));

    for (size_t i = 0; i < rest.n; i++)
        if (path[i] == '.')
            path[i] = '/';
    return str_from(path);
}

static int refuse_rule_ref(struct loader *loader, const struct value *v)
{
    value_diag(loader->diags, v, "'%.*s' is not a reference to a reaction", STR_ARG(v->s));
    if (str_starts(v->s, STR(RULE_SET_NAMESPACE ".")))
        diag_hint(loader->diags, "segments have letters, digits, '_' and '-', with dots between");
    else
        diag_hint(loader->diags, "references begin with '" RULE_SET_NAMESPACE ".': "
                                 "'" RULE_SET_NAMESPACE ".deploy.notify' is deploy/notify.zy");
    return -1;
}

static void add_rule_entry(struct loader *loader, const struct value *v, const struct rule *entry)
{
    struct arena *arena = &loader->set->arena;
    struct rule rule = *entry;
    struct str path;

    if (!value_is(v, VALUE_STR)) {
        value_diag(loader->diags, v, "expected a reference to a reaction, found %s",
                   value_describe(v));
        return;
    }
    if (!is_rule_ref(v->s)) {
        refuse_rule_ref(loader, v);
        return;
    }
    path = path_of_ref(&loader->scratch, v->s);
    rule.ref = arena_strndup(arena, v->s.p, v->s.n);
    rule.file = rule_set_find(loader->set, path);
    if (!rule.file) {
        value_diag(loader->diags, v, "no file '%.*s' for '%s'", STR_ARG(path), rule.ref);
        return;
    }
    if (loader->set->rules.n >= RULE_SET_RULES_MAX) {
        value_diag(loader->diags, v, "more than %d rules", RULE_SET_RULES_MAX);
        return;
    }
    rule.at = value_place(v);
    rule.at.file = arena_strdup(arena, rule.at.file ? rule.at.file : "");
    VEC_PUSH_IN(arena, &loader->set->rules, rule);
    rule_lint(&rule, loader->lints);
}

/* --- entries ------------------------------------------------------------------------ */

struct options {
    const struct value *react;
    int64_t throttle;
    bool has_throttle;
};

#define ARGS struct options

static const struct param option_params[] = {
    PARAM("react", LIST, ARGS, react, "references to reactions",
          .flags = PARAM_REQUIRED | PARAM_FILLED),
    PARAM("throttle", DURATION, ARGS, throttle, "pause after a fire, for each source",
          PARAM_GIVEN(ARGS, has_throttle)),
    { 0 },
};

/* Reads the valid parts; `react` stays NULL without references. */
static void read_rule_options(struct loader *loader, const struct value *v, struct options *ret)
{
    const struct params_policy policy = { .noun = "option" };

    *ret = (struct options){ 0 };
    if (value_is(v, VALUE_LIST)) {
        ret->react = v;
        if (v->list->count == 0)
            value_diag(loader->diags, v, "the list is empty");
    } else if (value_is(v, VALUE_MAP)) {
        (void)params_decode(&loader->scratch, option_params, &policy, v, ret, loader->diags);
    } else {
        value_diag(loader->diags, v, "expected a list of references, found %s", value_describe(v));
        diag_hint(loader->diags, "or a map with 'react' and 'throttle'");
    }
}

static void read_rule_entry(struct loader *loader, const struct value *v)
{
    struct rule_set *set = loader->set;
    struct options options;
    const struct value_pair *pair;
    struct rule entry;

    if (!value_is(v, VALUE_MAP) || v->map->count != 1) {
        value_diag(loader->diags, v, "expected one pattern with its reactions, found %s",
                   value_is(v, VALUE_MAP) ? "several keys" : value_describe(v));
        return;
    }
    pair = &v->map->pairs[0];
    if (!value_is(&pair->key, VALUE_STR) || pair->key.s.n == 0) {
        value_diag(loader->diags, &pair->key, "expected a pattern, found %s",
                   value_describe(&pair->key));
        return;
    }
    read_rule_options(loader, &pair->value, &options);
    entry = (struct rule){
        .pattern = arena_strndup(&set->arena, pair->key.s.p, pair->key.s.n),
        .throttle = options.has_throttle ? options.throttle : RULE_THROTTLE_DEFAULT,
    };
    rule_lint_pattern(&pair->key, loader->lints);
    VEC_PUSH_IN(&set->arena, &set->entries,
                (struct rule_set_entry){
                    .pattern = rule_pattern(&set->arena, pair->key.s),
                    .first = set->rules.n,
                });
    rule_index_add(&set->index, set->entries.p[set->entries.n - 1].pattern, set->entries.n - 1);
    for (size_t i = 0; options.react && i < options.react->list->count; i++)
        add_rule_entry(loader, &options.react->list->items[i], &entry);
    set->entries.p[set->entries.n - 1].count =
        set->rules.n - set->entries.p[set->entries.n - 1].first;
}

struct top {
    const struct value *reactor;
};

static void read_rule_top(struct loader *loader, const struct rule_file *file)
{
    static const struct param top_params[] = {
        PARAM("reactor", LIST, struct top, reactor, "patterns and their reactions"),
        { 0 },
    };
    const struct params_policy policy = { .noun = "key" };
    struct top top = { 0 };
    struct value doc;

    if (yaml_parse(&loader->scratch, file->name, file->text, NULL, &doc, loader->diags) < 0)
        return;
    if (doc.kind != VALUE_NULL && doc.kind != VALUE_MAP) {
        value_diag(loader->diags, &doc, "expected a map with the key 'reactor', found %s",
                   value_describe(&doc));
        return;
    }
    (void)params_decode(&loader->scratch, top_params, &policy, &doc, &top, loader->diags);
    for (size_t i = 0; top.reactor && i < top.reactor->list->count; i++)
        read_rule_entry(loader, &top.reactor->list->items[i]);
}

struct str rule_pattern(struct arena *arena, struct str pattern)
{
    char *copy = arena_strndup(arena, pattern.p, pattern.n);

    for (size_t i = 0; i < pattern.n && copy[i] != '/'; i++)
        if (copy[i] == '.')
            copy[i] = '_';
    return (struct str){ copy, pattern.n };
}

/* --- the set ------------------------------------------------------------------------ */

static int check_rule_limits(const struct rule_file *files, size_t count, struct diags *diags)
{
    size_t bytes = 0;

    if (count > RULE_SET_FILES_MAX)
        return diag_add(diags, (struct place){ 0 }, "more than %d files", RULE_SET_FILES_MAX);
    for (size_t i = 0; i < count; i++)
        bytes += files[i].text.n < RULE_SET_BYTES_MAX ? files[i].text.n : RULE_SET_BYTES_MAX + 1;
    if (bytes > RULE_SET_BYTES_MAX)
        return diag_add(diags, (struct place){ 0 }, "the files have more than %zu bytes",
                        RULE_SET_BYTES_MAX);
    return 0;
}

const char *rule_file_name(struct arena *arena, const char *path)
{
    return arena_printf(arena, RULE_SET_NAMESPACE "/%s", path);
}

static void add_rule_file(struct rule_set *set, const struct rule_file *file)
{
    struct rule_file *copy = ARENA_NEW(&set->arena, struct rule_file);

    copy->path = arena_strdup(&set->arena, file->path);
    copy->name = file->name ? arena_strdup(&set->arena, file->name)
                            : rule_file_name(&set->arena, file->path);
    copy->text = arena_str(&set->arena, file->text);
    (void)map_set(&set->files, str_from(copy->path), copy);
}

static struct rule_set *make_set(void)
{
    struct rule_set *set = mem_zalloc(sizeof(*set));

    set->users = 1;
    set->files.arena = &set->arena;
    rule_index_init(&set->index, &set->arena);
    return set;
}

struct rule_set *rule_set_new(const struct rule_file *files, size_t count, struct diags *diags,
                              struct diags *lints)
{
    struct loader loader = { .diags = diags, .lints = lints };
    const size_t before = diags_count(diags);
    const struct rule_file *top;

    if (check_rule_limits(files, count, diags) < 0)
        return NULL;
    loader.set = make_set();
    for (size_t i = 0; i < count; i++)
        add_rule_file(loader.set, &files[i]);
    top = rule_set_find(loader.set, STR(RULE_SET_TOP));
    if (top)
        read_rule_top(&loader, top);
    else if (count > 0)
        diag_add(diags, (struct place){ .file = RULE_SET_NAMESPACE "/" RULE_SET_TOP },
                 "the file is missing");
    arena_done(&loader.scratch);
    if (diags_count(diags) == before)
        return loader.set;
    rule_set_drop(loader.set);
    return NULL;
}

struct rule_set *rule_set_hold(struct rule_set *set)
{
    set->users++;
    return set;
}

void rule_set_drop(struct rule_set *set)
{
    if (!set || --set->users > 0)
        return;
    arena_done(&set->arena);
    free(set);
}

void rule_set_match(const struct rule_set *set, struct arena *arena, struct str key,
                    struct rule_matches *ret_matches)
{
    struct rule_index_numbers numbers;

    *ret_matches = (struct rule_matches){ VEC_INIT };
    rule_index_find(&set->index, arena, key, &numbers);
    VEC_EACH (&numbers.list, number) {
        const struct rule_set_entry *entry = &set->entries.p[*number];

        if (!glob_match(entry->pattern, key))
            continue;
        for (size_t i = 0; i < entry->count; i++)
            VEC_PUSH_IN(arena, &ret_matches->list, &set->rules.p[entry->first + i]);
    }
}

const struct rule_file *rule_set_find(const struct rule_set *set, struct str path)
{
    return map_find(&set->files, path);
}
