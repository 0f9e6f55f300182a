/* pkg.list_pkgs - lists installed packages and their versions. */
#include "states/modules/pkg/package_list.h"
#include "states/state/module.h"

const struct module module_pkg_list_pkgs = {
    .name = "pkg.list_pkgs",
    .summary = "list installed packages and their versions",
    .params = package_list_params,
    .args_size = sizeof(struct package_list_args),
    .call = package_list_call,
};
