#include "states/modules/settings/datapath.h"

#include "core/base/err.h"
#include "states/state/module.h"

const struct value *datapath_find(const struct value *tree, const char *path)
{
    const struct value *found = value_path(tree, str_from(path), ':');

    return found ? found : value_path(tree, str_from(path), '.');
}

struct value datapath_get(const struct value *tree, const char *path, const struct value *otherwise)
{
    const struct value *found = datapath_find(tree, path);

    if (found)
        return *found;
    return otherwise ? *otherwise : value_text("");
}

struct value datapath_items(struct arena *arena, const struct value *tree,
                            const struct param_strs *paths)
{
    struct value_map *found = value_map_new(arena, paths->n);

    for (size_t i = 0; i < paths->n; i++)
        value_map_set(arena, found, value_text(paths->p[i]), datapath_get(tree, paths->p[i], NULL));
    return value_map(found);
}

struct value datapath_keys(struct arena *arena, const struct value *tree)
{
    struct value_list *keys = value_list_new(arena, tree->map->count);

    for (size_t i = 0; i < tree->map->count; i++)
        value_list_push(arena, keys, tree->map->pairs[i].key);
    return value_list(keys);
}

#define ARGS struct datapath_args

/* clang-format off */
const struct param datapath_params[] = {
    PARAM("key", STR, ARGS, key, "a path, with ':' or '.' between its parts", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name"),
    PARAM("default", ANY, ARGS, otherwise, "value to return if there is none"),
    { 0 },
};
const struct param datapath_items_params[] = {
    PARAM("keys", STRS, struct datapath_items_args, keys, "paths, with ':' or '.' between their parts", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "name,key"),
    { 0 },
};
const struct param datapath_keys_params[] = {
    PARAM("key", STR, struct datapath_keys_args, key, "the path of a map, with ':' or '.' between its parts (default: all settings)", .flags = PARAM_PRIMARY),
    { 0 },
};
/* clang-format on */

int datapath_call_settings(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    (void)args;
    (void)err;
    *ret = *state_settings(run);
    return 0;
}

int datapath_call_setting(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    const struct datapath_args *want = args;

    (void)err;
    *ret = datapath_get(state_settings(run), want->key, want->otherwise);
    return 0;
}

int datapath_call_setting_items(struct state_run *run, const void *args, struct value *ret,
                                struct err *err)
{
    const struct datapath_items_args *want = args;

    (void)err;
    *ret = datapath_items(run->arena, state_settings(run), &want->keys);
    return 0;
}

int datapath_call_setting_keys(struct state_run *run, const void *args, struct value *ret,
                               struct err *err)
{
    const struct datapath_keys_args *want = args;
    const struct value *tree = state_settings(run);

    if (want->key) {
        tree = datapath_find(tree, want->key);
        if (!value_is(tree, VALUE_MAP))
            return err_set(err, ERR_NOT_FOUND, "'%s' is %s", want->key,
                           tree ? "not a map" : "not there");
    }
    *ret = datapath_keys(run->arena, tree);
    return 0;
}
