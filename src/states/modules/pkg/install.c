/* pkg.install - installs packages now and returns what changed. */
#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_index.h"
#include "states/modules/pkg/packages_undo.h"
#include "states/state/module.h"

#define ARGS struct install_args

struct install_args {
    struct packages_args what;
    bool refresh;
};

/* clang-format off */
static const struct param install_params[] = {
    PACKAGES_PARAMS(ARGS, what),
    PACKAGES_VERSION(ARGS, what),
    PARAM("refresh", BOOL, ARGS, refresh, "refresh the package index first"),
    { 0 },
};
/* clang-format on */

static int install_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct install_args *want = args;

    return packages_validate(&want->what, where, diags);
}

static int fill_install_request(struct packages *packages, struct packages_wants *wants,
                                struct package_offers *offers, struct package_request *request,
                                struct err *err)
{
    bool any;

    if (packages_aim(packages, wants, &any, err) < 0 ||
        packages_offers(packages, wants, offers, err) < 0)
        return -1;
    VEC_EACH (&wants->list, want) {
        const char *version;

        if (packages_choose(packages, want, offers, &version, err) < 0)
            return -1;
        packages_request_version(packages, request, want, version);
    }
    return 0;
}

static int install_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct install_args *want = args;
    struct package_request request = { .action = PACKAGE_INSTALL };
    struct package_offers offers;
    struct packages_undo before;
    struct packages_wants wants;
    struct packages packages;

    if (run->test)
        return err_set(err, ERR_UNSUPPORTED, "a dry run changes nothing");
    if (packages_open(run, &packages, err) < 0 ||
        packages_wants(&packages, &want->what, &wants, err) < 0 ||
        packages_look(&packages, &wants, err) < 0)
        return -1;
    if (want->refresh &&
        packages_index_refresh(&packages, &(struct packages_index){ .asked = true }, err) < 0)
        return -1;
    if (packages_undo_look(&packages, &before, err) < 0 ||
        fill_install_request(&packages, &wants, &offers, &request, err) < 0 ||
        packages_install(&packages, &wants, &request, &offers, err) < 0)
        return -1;
    return packages_undo_tell(&packages, &before, ret, err);
}

const struct module module_pkg_install = {
    .name = "pkg.install",
    .summary = "install packages now and return the changes",
    .details =
        "A function: it acts on every call and cannot be reverted. Use pkg.installed in states.",
    .params = install_params,
    .args_size = sizeof(struct install_args),
    .lock = PACKAGES_LOCK,
    .validate = install_validate,
    .flags = MODULE_ACTS,
    .call = install_call,
};
