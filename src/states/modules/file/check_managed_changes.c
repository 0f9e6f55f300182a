/* file.check_managed_changes - what would change if a file were managed like this. */
#include "states/modules/file/prospect.h"
#include "states/state/module.h"

#define ARGS struct prospect_args

/* clang-format off */
static const struct param check_managed_changes_params[] = {
    PROSPECT_SOURCE(ARGS),
    PROSPECT_OWNER(ARGS),
    PROSPECT_TEMPLATE(ARGS),
    PROSPECT_ENVIRONMENT(ARGS),
    PROSPECT_CONTENTS(ARGS),
    PARAM("keep_mode", BOOL, ARGS, keep_mode, "the permissions of the source"),
    PROSPECT_SELINUX,
    PROSPECT_CERTIFICATES,
    PARAM("follow_symlinks", BOOL, ARGS, follow, "compare the target of a link"),
    { 0 },
};
/* clang-format on */

static int check_managed_changes_call(struct state_run *run, const void *args, struct value *ret,
                                      struct err *err)
{
    return prospect_find(run, args, ret, err);
}

const struct module module_file_check_managed_changes = {
    .name = "file.check_managed_changes",
    .summary = "the changes that managing a file would make, as a map",
    .params = check_managed_changes_params,
    .args_size = sizeof(ARGS),
    .call = check_managed_changes_call,
};
