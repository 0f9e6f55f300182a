/* pkg.version_cmp - compares two versions by the rules of the package manager. */
#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/state/module.h"

#define ARGS struct version_cmp_args

struct version_cmp_args {
    struct str first, second;
    bool ignore_epoch;
};

/* clang-format off */
static const struct param version_cmp_params[] = {
    PARAM("pkg1", TEXT, ARGS, first, "a version", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("pkg2", TEXT, ARGS, second, "the version that it is compared with", .flags = PARAM_REQUIRED),
    PARAM("ignore_epoch", BOOL, ARGS, ignore_epoch, "compare without the part before the colon"),
    { 0 },
};
/* clang-format on */

static struct str cut_epoch(struct str version)
{
    struct str rest = version;

    (void)str_cut(&rest, ':');
    return rest.p ? rest : version;
}

static int version_cmp_call(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    const struct version_cmp_args *want = args;
    const bool cut = want->ignore_epoch;
    struct packages packages;
    int order;

    if (packages_open(run, &packages, err) < 0)
        return -1;
    order = packages.manager->compare(cut ? cut_epoch(want->first) : want->first,
                                      cut ? cut_epoch(want->second) : want->second);
    *ret = value_int((order > 0) - (order < 0));
    return 0;
}

const struct module module_pkg_version_cmp = {
    .name = "pkg.version_cmp",
    .summary = "compare two versions as the package manager does: -1, 0 or 1",
    .example = "pkg1: 1.2~rc1-1\npkg2: 1.2-1\n",
    .params = version_cmp_params,
    .args_size = sizeof(struct version_cmp_args),
    .call = version_cmp_call,
};
