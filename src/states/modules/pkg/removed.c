/* pkg.removed - removes packages. */
#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_gone.h"
#include "states/modules/pkg/packages_undo.h"
#include "states/state/module.h"

static int removed_check(struct state_run *run, const void *args, struct err *err)
{
    return packages_gone_check(run, args, false, err);
}

static int removed_apply(struct state_run *run, const void *args, struct err *err)
{
    return packages_gone_apply(run, args, false, err);
}

const struct module module_pkg_removed = {
    .name = "pkg.removed",
    .summary = "remove packages",
    .details =
        "Packages that depend on them are removed too, and listed in the details. Configuration "
        "files stay; pkg.purged removes them. A revert installs the previous version.",
    .example = "name: telnetd\n",
    .params = packages_gone_params,
    .args_size = sizeof(struct packages_gone_args),
    .lock = PACKAGES_LOCK,
    .validate = packages_gone_validate,
    .check = removed_check,
    .apply = removed_apply,
    .flags = MODULE_DRY_REVERT,
    .revert = packages_undo_revert,
};
