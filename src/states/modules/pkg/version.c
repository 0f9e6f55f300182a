/* pkg.version - returns the installed version of a package. */
#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/state/module.h"

#define ARGS struct version_args

struct version_args {
    const char *name;
};

/* clang-format off */
static const struct param version_params[] = {
    PARAM("name", STR, ARGS, name, "the package", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "package,pkg"),
    { 0 },
};
/* clang-format on */

static int version_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct version_args *want = args;
    const struct packages_args what = { .name = want->name };
    struct packages_wants wants;
    struct packages packages;

    if (packages_open(run, &packages, err) < 0 ||
        packages_wants(&packages, &what, &wants, err) < 0 ||
        packages_look(&packages, &wants, err) < 0)
        return -1;
    if (wants.list.p[0].found.state != PACKAGE_INSTALLED)
        return err_set(err, ERR_NOT_FOUND, "%s not installed", want->name);
    *ret = value_text(wants.list.p[0].found.version);
    return 0;
}

const struct module module_pkg_version = {
    .name = "pkg.version",
    .summary = "the installed version of a package",
    .params = version_params,
    .args_size = sizeof(struct version_args),
    .call = version_call,
};
