/* pkg.uptodate - keeps all installed packages at the latest available version. */
#include "core/base/err.h"
#include "states/modules/pkg/newest.h"
#include "states/modules/pkg/package_list.h"
#include "states/modules/pkg/packages_undo.h"
#include "states/state/module.h"

#define ARGS struct uptodate_args

struct uptodate_args {
    const char *name;
    struct packages_args what;
    struct packages_options how;
    enum param_tristate refresh;
};

/* clang-format off */
static const struct param uptodate_params[] = {
    PARAM("name", STR, ARGS, name, "any text", .flags = PARAM_PRIMARY),
    PARAM("pkgs", ANY, ARGS, what.pkgs, "only these packages"),
    PARAM("refresh", TRISTATE, ARGS, refresh, "refresh the index before, never in a dry run (default: unless this was done a moment ago)"),
    PACKAGES_OPTIONS(ARGS, how),
    { 0 },
};
/* clang-format on */

/* The names of all that is installed. */
static int list_installed(struct state_run *run, const struct value **ret, struct err *err)
{
    const struct package_list_args none = { 0 };
    struct value_list *names = value_list_new(run->arena, 0);
    struct value *list = ARENA_NEW(run->arena, struct value);
    struct value map;

    if (package_list_call(run, &none, &map, err) < 0)
        return -1;
    for (size_t i = 0; i < map.map->count; i++)
        value_list_push(run->arena, names, map.map->pairs[i].key);
    *list = value_list(names);
    *ret = list;
    return 0;
}

static int find_upgrade_args(struct state_run *run, const struct uptodate_args *want,
                             struct newest_args *ret, struct err *err)
{
    *ret = (struct newest_args){
        .what = want->what,
        .how = want->how,
        .refresh = want->refresh,
        .quiet = true,
    };
    ret->what.name = want->name;
    ret->how.only_upgrade = true;
    return want->what.pkgs ? 0 : list_installed(run, &ret->what.pkgs, err);
}

static int uptodate_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct uptodate_args *want = args;
    struct packages_args what = want->what;

    if (packages_options_validate(&want->how, where, diags) < 0)
        return -1;
    what.name = want->name;
    return what.pkgs ? packages_validate(&what, where, diags) : 0;
}

static int uptodate_check(struct state_run *run, const void *args, struct err *err)
{
    struct newest_args newest;

    if (find_upgrade_args(run, args, &newest, err) < 0 || newest_check(run, &newest, err) < 0)
        return -1;
    if (!run->differs)
        state_say(run, "all packages are at the latest version");
    return 0;
}

static int uptodate_apply(struct state_run *run, const void *args, struct err *err)
{
    struct newest_args newest;

    return find_upgrade_args(run, args, &newest, err) < 0 ? -1 : newest_apply(run, &newest, err);
}

const struct module module_pkg_uptodate = {
    .name = "pkg.uptodate",
    .summary = "keep all installed packages at the latest available version",
    .details = "Held packages are kept unless update_holds is set. A revert restores the previous "
               "versions.",
    .example = "name: everything\nrefresh: true\n",
    .params = uptodate_params,
    .args_size = sizeof(struct uptodate_args),
    .lock = PACKAGES_LOCK,
    .validate = uptodate_validate,
    .check = uptodate_check,
    .apply = uptodate_apply,
    .flags = MODULE_DRY_REVERT,
    .revert = packages_undo_revert,
};
