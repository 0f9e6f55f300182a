/* pkg.list_pkgs - the packages of this machine and their versions. */
#include "modules/pkg/package_list.h"
#include "state/module.h"

const struct module module_pkg_list_pkgs = {
    .name = "pkg.list_pkgs",
    .summary = "the packages of this machine and their versions",
    .params = package_list_params,
    .args_size = sizeof(struct package_list_args),
    .call = package_list_call,
};
