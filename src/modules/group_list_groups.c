/* group.list_groups - the names of all local groups. */
#include "modules/accounts.h"
#include "state/module.h"

/* clang-format off */
static const struct param list_groups_params[] = {
    { 0 },
};
/* clang-format on */

static int list_groups_call(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    (void)args;
    return accounts_list(run, "/etc/group", ret, err);
}

const struct module module_group_list_groups = {
    .name = "group.list_groups",
    .summary = "the names of all local groups",
    .params = list_groups_params,
    .call = list_groups_call,
};
