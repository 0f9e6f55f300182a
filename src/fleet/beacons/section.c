#include "fleet/beacons/section.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/number.h"

const struct beacon_kind *beacon_kind_find(const char *name)
{
    for (const struct beacon_kind *const *kind = beacon_kind_table; *kind; kind++)
        if (strcmp((*kind)->name, name) == 0)
            return *kind;
    return NULL;
}

/* A list of maps is their sum. */
static int join_maps(struct arena *arena, const struct value *section, struct value *ret,
                     struct diags *diags)
{
    struct value sum = value_map(value_map_new(arena, 4));

    for (size_t i = 0; i < section->list->count; i++) {
        const struct value *item = &section->list->items[i];

        if (item->kind != VALUE_MAP)
            return value_diag(diags, item, "expected a map, got %s", value_describe(item));
        sum = value_merge(arena, &sum, item, VALUE_MERGE_REPLACE);
    }
    *ret = value_at(sum, section);
    return 0;
}

int section_map(struct arena *arena, const struct value *section, struct value *ret,
                struct diags *diags)
{
    if (section->kind == VALUE_LIST)
        return join_maps(arena, section, ret, diags);
    *ret = *section;
    return 0;
}

const void *section_read(struct arena *arena, const struct beacon_kind *kind,
                         const struct value *section, struct diags *diags)
{
    const struct params_policy policy = { .noun = "key", .owner = kind->name };
    void *args = arena_zalloc(arena, kind->args_size);
    const size_t before = diags->list.n;
    struct value map;

    if (section_map(arena, section, &map, diags) < 0)
        return NULL;
    if (params_decode(arena, kind->params, &policy, &map, args, diags) < 0)
        return NULL;
    if (kind->check)
        kind->check(arena, args, &map, diags);
    return diags->list.n == before ? args : NULL;
}

/* --- values ----------------------------------------------------------------------- */

static bool is_section_empty(const struct value *v)
{
    return v->kind == VALUE_NULL || (v->kind == VALUE_MAP && v->map->count == 0);
}

static int parse_beacon_name(const struct value *name, const char **ret, struct diags *diags)
{
    if (name->kind != VALUE_STR || name->s.n == 0 || strlen(name->s.p) != name->s.n)
        return value_diag(diags, name, "expected a name, got %s", value_describe(name));
    *ret = name->s.p;
    return 0;
}

static int parse_beacon_names(const struct value *given, const char **names, struct diags *diags)
{
    if (given->kind == VALUE_STR)
        return parse_beacon_name(given, &names[0], diags);
    for (size_t i = 0; given->kind == VALUE_LIST && i < given->list->count; i++)
        if (parse_beacon_name(&given->list->items[i], &names[i], diags) < 0)
            return -1;
    for (size_t i = 0; given->kind == VALUE_MAP && i < given->map->count; i++) {
        const struct value_pair *pair = &given->map->pairs[i];

        if (parse_beacon_name(&pair->key, &names[i], diags) < 0)
            return -1;
        if (!is_section_empty(&pair->value))
            return value_diag(diags, &pair->value, "'%s': expected an empty map", names[i]);
    }
    return 0;
}

int section_names(struct arena *arena, const struct value *given, const char *key,
                  struct param_strs *ret_names, struct diags *diags)
{
    const size_t n = given->kind == VALUE_LIST  ? given->list->count
                     : given->kind == VALUE_MAP ? given->map->count
                     : given->kind == VALUE_STR ? 1
                                                : 0;
    const char **names = arena_alloc(arena, (n + 1) * sizeof(*names));

    if (n == 0)
        return value_diag(diags, given, "'%s': expected a map or a list of names", key);
    if (n > BEACON_ITEMS_MAX)
        return value_diag(diags, given, "'%s' has more than %d names", key, BEACON_ITEMS_MAX);
    if (parse_beacon_names(given, names, diags) < 0)
        return -1;
    *ret_names = (struct param_strs){ n, names };
    return 0;
}

int section_percent(const struct value *given, double *ret_percent, struct diags *diags)
{
    double percent = -1;
    struct err err;

    if (given->kind == VALUE_INT)
        percent = (double)given->i;
    else if (given->kind == VALUE_DOUBLE)
        percent = given->d;
    else if (given->kind == VALUE_STR) {
        struct str text = str_trim(given->s);

        if (str_ends(text, STR("%")))
            text = str_slice(text, 0, text.n - 1);
        if (number_parse_double(text, &percent, &err) < 0)
            percent = -1;
    }
    if (!(percent >= 0 && percent <= 100))
        return value_diag(diags, given, "expected a percentage from 0 to 100, got %s",
                          given->kind == VALUE_STR ? given->s.p : value_describe(given));
    *ret_percent = percent;
    return 0;
}

void section_print_doc(const struct beacon_kind *kind, struct buf *out)
{
    buf_printf(out, "%s\n%s.\n\n", kind->name, kind->summary);
    params_print_doc(kind->params, NULL, out);
}

void section_print_markdown(const struct beacon_kind *kind, struct buf *out)
{
    buf_printf(out, "### %s\n\n%s.\n\n", kind->name, kind->summary);
    params_print_markdown(kind->params, NULL, out);
}
