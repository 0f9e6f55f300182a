/* pkg.purged - packages that are not there, nor their configuration files. */
#include "modules/packages.h"
#include "modules/packages_gone.h"
#include "state/module.h"

#define ARGS struct purged_args

struct purged_args {
    struct packages_args what;
};

static const struct param purged_params[] = {
    PACKAGES_PARAMS(ARGS, what),
    PARAM("version", STR, ARGS, what.version,
          "only when this is its version; conditions as in pkg.installed"),
    { 0 },
};

static int purged_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct purged_args *want = args;

    return packages_validate(&want->what, where, diags);
}

static int purged_check(struct state_run *run, const void *args, struct err *err)
{
    const struct purged_args *want = args;

    return packages_gone_check(run, &want->what, true, err);
}

static int purged_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct purged_args *want = args;

    return packages_gone_apply(run, &want->what, true, err);
}

static int purged_revert(struct state_run *run, const void *args, struct err *err)
{
    (void)args;
    return packages_gone_revert(run, err);
}

const struct module module_pkg_purged = {
    .name = "pkg.purged",
    .summary = "packages that are not there, nor their configuration files",
    .details =
        "Where the manager knows no configuration files this is pkg.removed. Reverting installs "
        "what went, in the version it had; configuration files are then those of the package.",
    .example = "name: telnetd\n",
    .params = purged_params,
    .args_size = sizeof(struct purged_args),
    .lock = PACKAGES_LOCK,
    .validate = purged_validate,
    .check = purged_check,
    .apply = purged_apply,
    .revert = purged_revert,
};
