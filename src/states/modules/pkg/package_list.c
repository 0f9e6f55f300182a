#include "states/modules/pkg/package_list.h"

#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/provider/package/installed.h"
#include "states/state/module.h"

#define ARGS struct package_list_args

const struct param package_list_params[] = {
    PARAM("removed", BOOL, ARGS, removed,
          "include removed packages with remaining configuration files"),
    { 0 },
};

/* Names to versions; foreign architectures as name:arch. */
int package_list_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct package_list_args *want = args;
    struct value_map *map = value_map_new(run->arena, 0);
    const struct package_db *db;
    struct packages packages;

    if (packages_open(run, &packages, err) < 0 ||
        installed_lock(packages.manager, &packages.host, &db, err) < 0)
        return -1;
    VEC_EACH (&db->list, item) {
        const struct package *package = *item;
        const char *name = package->name;

        if (package->state != PACKAGE_INSTALLED &&
            !(want->removed && package->state == PACKAGE_CONFIG))
            continue;
        if (package_db_find(db, str_from(name)) != package)
            name = arena_printf(run->arena, "%s:%s", name, package->arch);
        value_map_set(run->arena, map, value_text(arena_strdup(run->arena, name)),
                      value_text(arena_strdup(run->arena, package->version)));
    }
    installed_unlock();
    *ret = value_map(map);
    return 0;
}
