#include "states/state/managed.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/data/params.h"
#include "states/state/module.h"
#include "core/sys/path.h"

struct managed_path {
    const char *tree; /* the state that owns its tree, or NULL */
    bool shared;      /* several states own it */
};

void managed_init(struct managed *managed, struct arena *arena)
{
    *managed = (struct managed){ .arena = arena, .paths = MAP_INIT_IN(arena) };
}

static const char *get_text_argument(const void *args, const struct param *param)
{
    return *(const char *const *)(const void *)((const char *)args + param->offset);
}

static const char *find_managed_path(const struct module *module, const void *args)
{
    const struct param *primary = params_find_primary(module->params);
    const struct param *target = params_find(module->params, STR("target"));
    const char *path = NULL;

    if (target && target->kind == PARAM_PATH)
        path = get_text_argument(args, target);
    if (!path && primary && (primary->kind == PARAM_PATH || (module->flags & MODULE_TREE)))
        path = get_text_argument(args, primary);
    return path && path[0] == '/' ? path : NULL;
}

/* Parent folders are entries, too: an empty one may be needed for a file that a state is about to
 * create. */
static struct managed_path *enter_managed_path(struct managed *managed, const char *path)
{
    struct managed_path *entry = map_find(&managed->paths, str_from(path));

    if (entry)
        return entry;
    entry = ARENA_NEW(managed->arena, struct managed_path);
    map_set(&managed->paths, str_from(path), entry);
    if (path[0] == '/' && path[1] != '\0')
        (void)enter_managed_path(managed, path_dirname(managed->arena, path));
    return entry;
}

void managed_add(struct managed *managed, const char *name, const struct module *module,
                 const void *args)
{
    const char *path;
    struct managed_path *entry;

    if (!args || !module->params || (module->flags & MODULE_REMOVES))
        return;
    path = find_managed_path(module, args);
    if (!path)
        return;
    entry = enter_managed_path(managed, path_normalise(managed->arena, path));
    if (!(module->flags & MODULE_TREE))
        return;
    entry->shared = entry->tree != NULL;
    entry->tree = name;
}

bool managed_has(const struct managed *managed, const char *path)
{
    return managed && map_has(&managed->paths, str_from(path));
}

bool managed_covers(const struct managed *managed, const char *path, const char *name)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (; managed; path = path_dirname(&arena, path)) {
        const struct managed_path *entry = map_find(&managed->paths, str_from(path));

        if (entry && entry->tree && (entry->shared || strcmp(entry->tree, name) != 0))
            return true;
        if (path[0] != '/' || path[1] == '\0')
            return false;
    }
    return false;
}
