/* group.list_groups - the names of all local groups. */
#include "states/modules/user/accounts.h"
#include "states/state/module.h"

static int list_groups_call(struct state_run *run, const void *args, struct value *ret,
                            struct err *err)
{
    (void)args;
    return accounts_list(run, "/etc/group", ret, err);
}

const struct module module_group_list_groups = {
    .name = "group.list_groups",
    .summary = "the names of all local groups",
    .params = params_none,
    .call = list_groups_call,
};
