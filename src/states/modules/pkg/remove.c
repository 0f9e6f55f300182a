/* pkg.remove - removes packages now and returns what changed. */
#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_undo.h"
#include "states/state/module.h"

#define ARGS struct remove_args

struct remove_args {
    struct packages_args what;
};

static const struct param remove_params[] = {
    PACKAGES_PARAMS(ARGS, what),
    { 0 },
};

static int remove_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct remove_args *want = args;

    return packages_validate(&want->what, where, diags);
}

static int remove_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct remove_args *want = args;
    struct packages_undo before;
    struct package_request request;
    struct packages_wants wants;
    struct packages packages;

    if (run->test)
        return err_set(err, ERR_UNSUPPORTED, "a dry run changes nothing");
    if (packages_open(run, &packages, err) < 0 ||
        packages_wants(&packages, &want->what, &wants, err) < 0)
        return -1;
    request = packages_request(&packages, PACKAGE_REMOVE, &wants);
    if (packages_undo_look(&packages, &before, err) < 0 ||
        packages_act(&packages, &request, err) < 0)
        return -1;
    return packages_undo_tell(&packages, &before, ret, err);
}

const struct module module_pkg_remove = {
    .name = "pkg.remove",
    .summary = "remove packages now and return the changes",
    .details =
        "A function: it acts on every call and cannot be reverted. Use pkg.removed in states.",
    .params = remove_params,
    .args_size = sizeof(struct remove_args),
    .lock = PACKAGES_LOCK,
    .validate = remove_validate,
    .flags = MODULE_ACTS,
    .call = remove_call,
};
