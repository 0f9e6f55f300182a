/* pkg.refresh_db - refreshes the package index. */
#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_index.h"
#include "states/state/module.h"

#define ARGS struct refresh_args

struct refresh_args {
    bool unused;
};

static int refresh_db_call(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    struct packages packages;

    (void)args;
    if (packages_open(run, &packages, err) < 0 ||
        packages_index_refresh(&packages, &(struct packages_index){ .asked = true }, err) < 0)
        return -1;
    *ret = value_bool(true);
    return 0;
}

const struct module module_pkg_refresh_db = {
    .name = "pkg.refresh_db",
    .summary = "refresh the package index",
    .params = params_none,
    .args_size = sizeof(struct refresh_args),
    .flags = MODULE_ACTS,
    .call = refresh_db_call,
};
