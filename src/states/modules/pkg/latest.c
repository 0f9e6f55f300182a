/* pkg.latest - keeps packages at the latest available version. */
#include "states/modules/pkg/newest.h"
#include "states/modules/pkg/packages_index.h"
#include "states/modules/pkg/packages_undo.h"
#include "states/state/module.h"

#define ARGS struct newest_args

/* clang-format off */
static const struct param latest_params[] = {
    PACKAGES_PARAMS(ARGS, what),
    PARAM("refresh", TRISTATE, ARGS, refresh, "refresh the package index first, never in a dry run (default: unless it was just refreshed)"),
    PACKAGES_INDEX_PARAM(ARGS, cache_valid_time),
    PACKAGES_OPTIONS(ARGS, how),
    PARAM_IDLE("watch_flags", "Gentoo only"),
    PARAM_REFUSED("resolve_capabilities", "packages are found by name"),
    { 0 },
};
/* clang-format on */

static int latest_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct newest_args *want = args;

    if (packages_options_validate(&want->how, where, diags) < 0)
        return -1;
    return packages_validate(&want->what, where, diags);
}

const struct module module_pkg_latest = {
    .name = "pkg.latest",
    .summary = "keep packages at the latest available version",
    .details =
        "The index is refreshed first, once for several such states; a dry run uses it as it is. A "
        "held package is kept unless update_holds is set. A revert restores the previous versions.",
    .example = "pkgs:\n  - openssl\n  - curl\n",
    .params = latest_params,
    .args_size = sizeof(struct newest_args),
    .lock = PACKAGES_LOCK,
    .validate = latest_validate,
    .check = newest_check,
    .apply = newest_apply,
    .flags = MODULE_DRY_REVERT,
    .revert = packages_undo_revert,
};
