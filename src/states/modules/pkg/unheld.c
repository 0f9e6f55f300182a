/* pkg.unheld - releases held packages. */
#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_hold.h"
#include "states/modules/pkg/packages_undo.h"
#include "states/state/module.h"

#define ARGS struct unheld_args

struct unheld_args {
    struct packages_args what;
    bool all;
};

/* clang-format off */
static const struct param unheld_params[] = {
    PACKAGES_PARAMS(ARGS, what),
    PARAM("all", BOOL, ARGS, all, "release all packages"),
    PARAM_IDLE("version", "a package is held whatever its version"),
    { 0 },
};
/* clang-format on */

static int unheld_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct unheld_args *want = args;

    return packages_validate(&want->what, where, diags);
}

static int unheld_check(struct state_run *run, const void *args, struct err *err)
{
    const struct unheld_args *want = args;
    const struct packages_hold hold = { &want->what, false, want->all };

    return packages_hold_check(run, &hold, err);
}

static int unheld_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct unheld_args *want = args;
    const struct packages_hold hold = { &want->what, false, want->all };

    return packages_hold_apply(run, &hold, err);
}

const struct module module_pkg_unheld = {
    .name = "pkg.unheld",
    .summary = "release held packages",
    .example = "name: nginx\n",
    .params = unheld_params,
    .args_size = sizeof(struct unheld_args),
    .lock = PACKAGES_LOCK,
    .validate = unheld_validate,
    .check = unheld_check,
    .apply = unheld_apply,
    .flags = MODULE_DRY_REVERT,
    .revert = packages_undo_revert,
};
