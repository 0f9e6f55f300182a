#include "states/compile/filter_by.h"

#include <strings.h>

#include "core/base/buf.h"
#include "core/base/glob.h"
#include "states/compile/merging.h"
#include "core/data/value.h"
#include "core/data/words.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/function.h"
#include "language/jinja/render.h"

static int check_lookup_is_map(struct render *render, const struct bound_args *bound,
                               const struct value *v, const char *what)
{
    if (v->kind == VALUE_MAP)
        return 0;
    return render_fail(render, RENDER_TYPE, "%s(): %s must be a map, not %s", bound->name, what,
                       value_describe(v));
}

/* A scalar as text; a NULL view for anything else. */
static struct str print_fact_text(struct arena *arena, const struct value *v)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (v->kind == VALUE_STR)
        return v->s;
    return words_print(&out, v) ? buf_copy(&out, arena) : (struct str){ NULL, 0 };
}

/* Match the key exactly, as a pattern, and last ignoring case: our own facts are in lower case. */
static const struct value *find_matching_entry(struct render *render, const struct value_map *map,
                                               const struct value *fact)
{
    const struct value *found = value_map_find(map, fact), *other = NULL;
    const struct str text = print_fact_text(render->arena, fact);

    for (size_t i = 0; text.p && !found && i < map->count; i++) {
        const struct str key = print_fact_text(render->arena, &map->pairs[i].key);

        if (key.p && glob_match(key, text))
            found = &map->pairs[i].value;
        else if (key.n == text.n && key.p && strncasecmp(key.p, text.p, key.n) == 0)
            other = &map->pairs[i].value;
    }
    return found ? found : other;
}

static const struct value *pick_entry(struct render *render, const struct value *lookup,
                                      const struct value *fact, const struct value *fallback)
{
    const struct value_map *map = container_map(render, lookup);
    const struct value *found = NULL;

    for (size_t i = 0; fact && fact->kind == VALUE_LIST && !found && i < fact->list->count; i++)
        found = find_matching_entry(render, map, &fact->list->items[i]);
    if (fact && fact->kind != VALUE_LIST)
        found = find_matching_entry(render, map, fact);
    return found ? found : value_map_find(map, fallback);
}

/* `base` is a map, or the key of one in the lookup. */
static int lay_on_base(struct render *render, const struct value *lookup, const struct value *base,
                       struct value *result)
{
    const struct value *below = base;
    struct str key;

    if (base->kind != VALUE_MAP) {
        if (argument_text(render, base, &key) < 0)
            return -1;
        below = value_get_str(lookup, key);
    }
    if (below && result->kind == VALUE_MAP)
        return merging_make(render, below, result, MERGING_REPLACE, result);
    if (below && result->kind == VALUE_NULL)
        *result = *below;
    return 0;
}

int filter_by(struct render *render, const struct bound_args *bound, const struct value *fact,
              struct value *ret)
{
    const struct value *lookup = &bound->args[0], *merge = &bound->args[2];
    const struct value *base = &bound->args[4];
    const struct value *found;
    struct value result;

    if (check_lookup_is_map(render, bound, lookup, "the lookup") < 0)
        return -1;
    if (bound->args[1].kind == VALUE_MAP && argument_is_none(merge))
        merge = &bound->args[1];
    found = pick_entry(render, lookup, fact, &bound->args[3]);
    result = found ? *found : value_null();
    if (!argument_is_none(base) && lay_on_base(render, lookup, base, &result) < 0)
        return -1;
    if (!value_is_true(merge)) { /* pillar.get returns an empty text for a missing key */
        *ret = result;
        return 0;
    }
    if (check_lookup_is_map(render, bound, merge, "merge") < 0)
        return -1;
    if (result.kind == VALUE_NULL) {
        *ret = *merge;
        return 0;
    }
    return merging_make(render, &result, merge, MERGING_REPLACE, ret);
}
