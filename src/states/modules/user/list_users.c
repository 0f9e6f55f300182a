/* user.list_users - the names of all local accounts. */
#include "states/modules/user/accounts.h"
#include "states/state/module.h"

static int list_users_call(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    (void)args;
    return accounts_list(run, "/etc/passwd", ret, err);
}

const struct module module_user_list_users = {
    .name = "user.list_users",
    .summary = "the names of all local accounts",
    .params = params_none,
    .call = list_users_call,
};
