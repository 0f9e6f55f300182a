#include "states/compile/lookup_functions.h"

#include <stdlib.h>

#include "states/compile/builtin.h"
#include "language/jinja/argument.h"
#include "language/jinja/container.h"
#include "language/jinja/ops.h"
#include "language/jinja/render.h"
#include "states/state/host.h"

static const struct state_host *get_function_host(const struct bound_args *bound)
{
    return ((struct builtin_context *)bound->user)->host;
}

static const struct value *get_grains(const struct bound_args *bound)
{
    return host_grains(get_function_host(bound));
}

static struct value copy_keys(struct render *render, const struct value_map *map)
{
    struct value_list *keys = container_new_list(render, map->count);

    for (size_t i = 0; i < map->count; i++)
        value_list_push(render->arena, keys, map->pairs[i].key);
    return value_list(keys);
}

/* --- settings ------------------------------------------------------------------------- */

/* A map of the values at all paths; missing ones get the default. */
static int pick_value_items(struct render *render, const struct value *tree,
                            const struct value_list *paths, struct value otherwise,
                            struct value *ret)
{
    struct value_map *map = container_new_map(render, paths->count);

    for (size_t i = 0; i < paths->count; i++) {
        const struct value *found;
        struct str path;

        if (argument_text(render, &paths->items[i], &path) < 0)
            return -1;
        found = value_path(tree, path, ':');
        value_map_set(render->arena, map, paths->items[i], found ? *found : otherwise);
    }
    *ret = value_map(map);
    return 0;
}

static int call_pillar_item(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    const struct value *otherwise = value_get(&bound->args[1], "default");

    return pick_value_items(render, get_function_host(bound)->settings,
                            container_list(render, &bound->args[0]),
                            otherwise ? *otherwise : value_text(""), ret);
}

static int call_pick_pillar_items(struct render *render, const struct bound_args *bound,
                                  struct value *ret)
{
    const struct value_list *paths = container_list(render, &bound->args[0]);

    if (paths->count > 0)
        return pick_value_items(render, get_function_host(bound)->settings, paths, value_text(""),
                                ret);
    *ret = *get_function_host(bound)->settings;
    return 0;
}

static int call_pillar_keys(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    const struct value *tree = get_function_host(bound)->settings;
    struct str path;

    if (argument_is_none(&bound->args[0])) {
        *ret = copy_keys(render, tree->map);
        return 0;
    }
    if (argument_text(render, &bound->args[0], &path) < 0)
        return -1;
    tree = value_path(tree, path, ':');
    if (!value_is(tree, VALUE_MAP))
        return render_fail(render, RENDER_NOT_FOUND, "%s(): '%.*s' is %s", bound->name,
                           STR_ARG(path), tree ? "not a map" : "not there");
    *ret = copy_keys(render, tree->map);
    return 0;
}

static int call_pillar_raw(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *tree = get_function_host(bound)->settings;
    struct str key;

    if (argument_is_none(&bound->args[0])) {
        *ret = *tree;
        return 0;
    }
    if (argument_text(render, &bound->args[0], &key) < 0)
        return -1;
    tree = value_get_str(tree, key);
    *ret = tree ? *tree : value_map(container_new_map(render, 0));
    return 0;
}

/* The same tree with types instead of values. */
static struct value hide_setting_values(struct render *render, const struct value *v)
{
    if (v->kind == VALUE_MAP) {
        struct value_map *map = container_new_map(render, v->map->count);

        for (size_t i = 0; i < v->map->count; i++)
            value_map_set(render->arena, map, v->map->pairs[i].key,
                          hide_setting_values(render, &v->map->pairs[i].value));
        return value_map(map);
    }
    if (v->kind == VALUE_LIST) {
        struct value_list *list = container_new_list(render, v->list->count);

        for (size_t i = 0; i < v->list->count; i++)
            value_list_push(render->arena, list, hide_setting_values(render, &v->list->items[i]));
        return value_list(list);
    }
    return value_text(arena_printf(render->arena, "<%s>", op_type_name(v)));
}

static int call_pillar_obfuscate(struct render *render, const struct bound_args *bound,
                                 struct value *ret)
{
    struct value found;

    if (call_pick_pillar_items(render, bound, &found) < 0)
        return -1;
    *ret = hide_setting_values(render, &found);
    return 0;
}

static int call_pillar_ls(struct render *render, const struct bound_args *bound, struct value *ret)
{
    *ret = copy_keys(render, get_function_host(bound)->settings->map);
    return 0;
}

/* --- facts ------------------------------------------------------------------------------ */

static int call_grains_ls(struct render *render, const struct bound_args *bound, struct value *ret)
{
    *ret = copy_keys(render, get_grains(bound)->map);
    return 0;
}

static int find_grain_argument(struct render *render, const struct bound_args *bound,
                               const struct value **ret)
{
    struct str path;

    if (argument_text(render, &bound->args[0], &path) < 0)
        return -1;
    *ret = value_path(get_grains(bound), path, ':');
    return 0;
}

static int call_grains_has_value(struct render *render, const struct bound_args *bound,
                                 struct value *ret)
{
    const struct value *found;

    if (find_grain_argument(render, bound, &found) < 0)
        return -1;
    *ret = value_bool(found);
    return 0;
}

/* Compared as text; a missing value is empty. */
static int call_grains_equals(struct render *render, const struct bound_args *bound,
                              struct value *ret)
{
    const struct value *found;
    struct str have = STR(""), want;

    if (find_grain_argument(render, bound, &found) < 0 ||
        argument_text(render, &bound->args[1], &want) < 0 ||
        (found && argument_text(render, found, &have) < 0))
        return -1;
    *ret = value_bool(str_eq(have, want));
    return 0;
}

/* --- configuration -------------------------------------------------------------------------- */

/* Keys "NAME.x" of a map: { "NAME.x": value }. */
static int call_dot_vals(struct render *render, const struct bound_args *bound, struct value *ret)
{
    const struct value *settings = get_function_host(bound)->settings;
    struct value_map *map = container_new_map(render, 0);
    struct str name;

    if (argument_text(render, &bound->args[0], &name) < 0)
        return -1;
    for (size_t i = 0; i < settings->map->count; i++) {
        const struct value_pair *pair = &settings->map->pairs[i];

        if (pair->key.kind == VALUE_STR && pair->key.s.n > name.n &&
            str_starts(pair->key.s, name) && pair->key.s.p[name.n] == '.')
            value_map_set(render->arena, map, pair->key, pair->value);
    }
    *ret = value_map(map);
    return 0;
}

static int call_valid_fileproto(struct render *render, const struct bound_args *bound,
                                struct value *ret)
{
    static const char *const schemes[] = { "salt://", "zester://", "http://",  "https://",
                                           "ftp://",  "s3://",     "swift://", "file://" };
    struct str uri;

    if (argument_text(render, &bound->args[0], &uri) < 0)
        return -1;
    *ret = value_bool(false);
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_starts(uri, str_from(schemes[i])))
            *ret = value_bool(true);
    return 0;
}

static int call_backup_mode(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    (void)render;
    *ret = value_is_true(&bound->args[0]) ? bound->args[0] : value_text("");
    return 0;
}

/* The digits of a mode, four of them. */
static int call_manage_mode(struct render *render, const struct bound_args *bound,
                            struct value *ret)
{
    struct str mode;

    if (argument_is_none(&bound->args[0])) {
        *ret = value_null();
        return 0;
    }
    if (argument_text(render, &bound->args[0], &mode) < 0)
        return -1;
    *ret = value_text(mode.n < 4 ? arena_printf(render->arena, "%.*s%.*s", (int)(4 - mode.n),
                                                "0000", STR_ARG(mode))
                                 : arena_printf(render->arena, "%.*s", STR_ARG(mode)));
    return 0;
}

static int call_deepcopy(struct render *render, const struct bound_args *bound, struct value *ret)
{
    *ret = value_copy(render->arena, &bound->args[0]);
    return 0;
}

/* --- environment and time ----------------------------------------------------------------- */

static int find_process_variable(struct render *render, const struct value *key, const char **ret)
{
    struct str name;

    if (argument_text(render, key, &name) < 0)
        return -1;
    *ret = getenv(arena_strndup(render->arena, name.p, name.n));
    return 0;
}

/* Is it set, or, with a value, set to that? */
static int call_environ_has_value(struct render *render, const struct bound_args *bound,
                                  struct value *ret)
{
    const bool any = argument_is_none(&bound->args[1]);
    struct str want = { NULL, 0 };
    const char *found;

    if (find_process_variable(render, &bound->args[0], &found) < 0 ||
        (!any && argument_text(render, &bound->args[1], &want) < 0))
        return -1;
    *ret = value_bool(found && (any || str_is(want, found)));
    return 0;
}

/* One name, or a list of them: a map. */
static int call_environ_item(struct render *render, const struct bound_args *bound,
                             struct value *ret)
{
    struct value_list *names = container_new_list(render, 1);
    struct value_map *map = container_new_map(render, 1);

    if (bound->args[0].kind == VALUE_STR)
        value_list_push(render->arena, names, bound->args[0]);
    const struct value_list *keys =
        bound->args[0].kind == VALUE_LIST ? container_list(render, &bound->args[0]) : names;
    for (size_t i = 0; i < keys->count; i++) {
        const char *found;

        if (find_process_variable(render, &keys->items[i], &found) < 0)
            return -1;
        value_map_set(render->arena, map, keys->items[i],
                      found ? value_text(arena_strdup(render->arena, found)) : bound->args[1]);
    }
    *ret = value_map(map);
    return 0;
}

/* No other run: a run has the lock of this machine. */
static int call_is_running(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)bound;
    *ret = value_list(container_new_list(render, 0));
    return 0;
}

/* --- calls ----------------------------------------------------------------------------- */

static int call_test_arg(struct render *render, const struct bound_args *bound, struct value *ret)
{
    struct value_map *map = container_new_map(render, 2);

    value_map_set(render->arena, map, value_text("args"), bound->args[0]);
    value_map_set(render->arena, map, value_text("kwargs"), bound->args[1]);
    *ret = value_map(map);
    return 0;
}

static int call_test_kwarg(struct render *render, const struct bound_args *bound, struct value *ret)
{
    (void)render;
    *ret = bound->args[0];
    return 0;
}

/* clang-format off */
const struct function lookup_functions[] = {
    { "config.backup_mode", "backup=''", call_backup_mode, "the backup mode that is given" },
    { "config.dot_vals", "value", call_dot_vals, "the settings whose keys begin with a name and a dot" },
    { "config.manage_mode", "mode", call_manage_mode, "a mode as four digits" },
    { "config.valid_fileproto", "uri", call_valid_fileproto, "whether a source can be fetched from there" },
    { "defaults.deepcopy", "source", call_deepcopy, "a copy of its own" },
    { "environ.has_value", "key, value=none", call_environ_has_value, "whether a variable of the environment is set, or set to a value" },
    { "environ.item", "keys, default=''", call_environ_item, "variables of the environment, as a map" },
    { "grains.equals", "key, value", call_grains_equals, "whether a fact has this value" },
    { "grains.has_value", "key", call_grains_has_value, "whether there is a fact at a path" },
    { "grains.ls", "", call_grains_ls, "the names of all facts" },
    { "pillar.item", "*keys, **kwargs", call_pillar_item, "settings by their paths, as a map" },
    { "pillar.items", "*keys", call_pick_pillar_items, "all settings, or those at the paths" },
    { "pillar.keys", "key=none", call_pillar_keys, "the keys of a setting, or of all" },
    { "pillar.ls", "", call_pillar_ls, "the names of all settings" },
    { "pillar.obfuscate", "*keys", call_pillar_obfuscate, "settings with the type of each value instead of the value" },
    { "pillar.raw", "key=none", call_pillar_raw, "a setting by its name, or all" },
    { "saltutil.is_running", "fun", call_is_running, "other runs of a function: none" },
    { "test.arg", "*args, **kwargs", call_test_arg, "the arguments of the call: args and kwargs" },
    { "test.arg_clean", "*args, **kwargs", call_test_arg, "the same: nothing is added to kwargs here" },
    { "test.kwarg", "**kwargs", call_test_kwarg, "the pairs it was called with" },
    { 0 },
};
/* clang-format on */
