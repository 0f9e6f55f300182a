/* pkg.removed - packages that are not there. */
#include "modules/packages.h"
#include "modules/packages_gone.h"
#include "state/module.h"

#define ARGS struct removed_args

struct removed_args {
    struct packages_args what;
};

static const struct param removed_params[] = {
    PACKAGES_PARAMS(ARGS, what),
    PARAM("version", STR, ARGS, what.version,
          "only when this is its version; conditions as in pkg.installed"),
    { 0 },
};

static int removed_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct removed_args *want = args;

    return packages_validate(&want->what, where, diags);
}

static int removed_check(struct state_run *run, const void *args, struct err *err)
{
    const struct removed_args *want = args;

    return packages_gone_check(run, &want->what, false, err);
}

static int removed_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct removed_args *want = args;

    return packages_gone_apply(run, &want->what, false, err);
}

static int removed_revert(struct state_run *run, const void *args, struct err *err)
{
    (void)args;
    return packages_gone_revert(run, err);
}

const struct module module_pkg_removed = {
    .name = "pkg.removed",
    .summary = "packages that are not there",
    .details =
        "Packages that need them go too, and are told in the details. Configuration files stay; "
        "pkg.purged removes them. Reverting installs what went, in the version it had.",
    .example = "name: telnetd\n",
    .params = removed_params,
    .args_size = sizeof(struct removed_args),
    .lock = PACKAGES_LOCK,
    .validate = removed_validate,
    .check = removed_check,
    .apply = removed_apply,
    .revert = removed_revert,
};
