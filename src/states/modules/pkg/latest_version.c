/* pkg.latest_version - returns the latest available version of a package. */
#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/state/module.h"

#define ARGS struct latest_args

struct latest_args {
    const char *name;
};

/* clang-format off */
static const struct param latest_params[] = {
    PARAM("name", STR, ARGS, name, "the package", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED, .aliases = "package,pkg"),
    { 0 },
};
/* clang-format on */

static int latest_version_call(struct state_run *run, const void *args, struct value *ret,
                               struct err *err)
{
    const struct latest_args *want = args;
    const struct packages_args what = { .name = want->name };
    const struct package_offer *offer;
    struct package_offers offers;
    struct packages_wants wants;
    struct packages packages;

    if (packages_open(run, &packages, err) < 0 ||
        packages_wants(&packages, &what, &wants, err) < 0 ||
        packages_offers(&packages, &wants, &offers, err) < 0)
        return -1;
    offer = package_offers_find(&offers, str_from(want->name));
    if (!offer)
        return err_set(err, ERR_NOT_FOUND, "%s has no package '%s'", packages.manager->name,
                       want->name);
    *ret = value_text(offer->candidate);
    return 0;
}

const struct module module_pkg_latest_version = {
    .name = "pkg.latest_version",
    .summary = "the latest available version of a package",
    .details = "Uses the index as it is. An unknown package is an error; for an up-to-date "
               "package, this is the installed version.",
    .params = latest_params,
    .args_size = sizeof(struct latest_args),
    .call = latest_version_call,
};
