/* pkg.held - holds packages at their version. */
#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_hold.h"
#include "states/modules/pkg/packages_undo.h"
#include "states/state/module.h"

#define ARGS struct held_args

struct held_args {
    struct packages_args what;
    bool replace;
};

static const struct param held_params[] = {
    PACKAGES_PARAMS(ARGS, what),
    PARAM("version", STR, ARGS, what.version,
          "the required version; conditions as in pkg.installed"),
    PARAM("replace", BOOL, ARGS, replace, "release all other packages"),
    { 0 },
};

static int held_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct held_args *want = args;

    return packages_validate(&want->what, where, diags);
}

static int held_check(struct state_run *run, const void *args, struct err *err)
{
    const struct held_args *want = args;
    const struct packages_hold hold = { &want->what, true, want->replace };

    return packages_hold_check(run, &hold, err);
}

static int held_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct held_args *want = args;
    const struct packages_hold hold = { &want->what, true, want->replace };

    return packages_hold_apply(run, &hold, err);
}

const struct module module_pkg_held = {
    .name = "pkg.held",
    .summary = "hold packages at their version",
    .example = "name: nginx\n",
    .params = held_params,
    .args_size = sizeof(struct held_args),
    .lock = PACKAGES_LOCK,
    .validate = held_validate,
    .check = held_check,
    .apply = held_apply,
    .flags = MODULE_DRY_REVERT,
    .revert = packages_undo_revert,
};
