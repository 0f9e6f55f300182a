/* pkg.purged - removes packages and their configuration files. */
#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_gone.h"
#include "states/modules/pkg/packages_undo.h"
#include "states/state/module.h"

static int purged_check(struct state_run *run, const void *args, struct err *err)
{
    return packages_gone_check(run, args, true, err);
}

static int purged_apply(struct state_run *run, const void *args, struct err *err)
{
    return packages_gone_apply(run, args, true, err);
}

const struct module module_pkg_purged = {
    .name = "pkg.purged",
    .summary = "remove packages and their configuration files",
    .details = "Where the manager does not track configuration files, this is the same as "
               "pkg.removed. A revert installs the previous version, with the default "
               "configuration files of the package.",
    .example = "name: telnetd\n",
    .params = packages_gone_params,
    .args_size = sizeof(struct packages_gone_args),
    .lock = PACKAGES_LOCK,
    .validate = packages_gone_validate,
    .check = purged_check,
    .apply = purged_apply,
    .flags = MODULE_DRY_REVERT,
    .revert = packages_undo_revert,
};
