#include "core/data/yaml_map.h"

#include "core/base/buf.h"
#include "core/data/scalar.h"

/* Most maps of a state file have one pair. */
#define EXPECTED_PAIRS 1
/* Keys in messages are cut here. */
#define SHOWN_MAX 60

void yaml_map_init(struct yaml_map *map, struct arena *arena, struct diags *diags)
{
    *map = (struct yaml_map){
        .arena = arena,
        .diags = diags,
        .own = value_map_new(arena, EXPECTED_PAIRS),
    };
}

static void show_key(struct buf *out, const struct value *key)
{
    if (key->kind == VALUE_STR)
        buf_add_str(out, str_slice(key->s, 0, SHOWN_MAX));
    else if (key->kind == VALUE_BYTES || key->kind == VALUE_TIME)
        buf_add_text(out, value_describe(key));
    else
        scalar_print(out, key);
}

static void complain_duplicate(struct diags *diags, const struct value *key,
                               const struct value *first)
{
    AUTO_BUF struct buf name = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf other = BUF_INIT(BUF_NO_LIMIT);

    show_key(&name, key);
    show_key(&other, first);
    value_diag(diags, key, "duplicate key '%s'", buf_text(&name));
    if (str_eq(buf_view(&name), buf_view(&other)))
        diag_note(diags, value_place(first), "first here");
    else
        diag_note(diags, value_place(first), "first here, as '%s', which is equal",
                  buf_text(&other));
}

void yaml_map_add(struct yaml_map *map, const struct value *key, const struct value *value)
{
    const struct value_pair *known = value_map_find_pair(map->own, key);

    if (known)
        complain_duplicate(map->diags, key, &known->key);
    else
        value_map_append(map->arena, map->own, *key, *value);
}

static void complain_merge(struct diags *diags, const struct value *key, const struct value *item)
{
    value_diag(diags, item, "'<<' merges a map or a list of maps, not %s", value_describe(item));
    diag_note(diags, value_place(key), "merged here");
}

void yaml_map_merge(struct yaml_map *map, const struct value *key, const struct value *value)
{
    const struct value *items = value->kind == VALUE_LIST ? value->list->items : value;
    size_t count = value->kind == VALUE_LIST ? value->list->count : 1;

    if (map->merge_key.kind != VALUE_NULL) {
        complain_duplicate(map->diags, key, &map->merge_key);
        diag_hint(map->diags, "merge several maps with '<<: [*a, *b]'");
        return;
    }
    map->merge_key = *key;
    for (size_t i = count; i-- > 0;) {
        if (items[i].kind == VALUE_MAP)
            VEC_PUSH_IN(map->arena, &map->merges, items[i].map);
        else
            complain_merge(map->diags, key, &items[i]);
    }
}

struct value_map *yaml_map_finish(const struct yaml_map *map)
{
    struct value_map *all;

    if (map->merges.n == 0)
        return map->own;
    all = value_map_new_like(map->arena, map->own);
    for (size_t m = 0; m < map->merges.n; m++)
        for (size_t i = 0; i < map->merges.p[m]->count; i++)
            value_map_set(map->arena, all, map->merges.p[m]->pairs[i].key,
                          map->merges.p[m]->pairs[i].value);
    for (size_t i = 0; i < map->own->count; i++) {
        const struct value_pair *pair = &map->own->pairs[i];
        const struct value_pair *known = value_map_find_pair(all, &pair->key);

        if (known) /* the key too: it has the place */
            all->pairs[known - all->pairs] = *pair;
        else
            value_map_append(map->arena, all, pair->key, pair->value);
    }
    return all;
}
