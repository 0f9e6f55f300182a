/* user.list_users - the names of all local accounts. */
#include "modules/accounts.h"
#include "state/module.h"

/* clang-format off */
static const struct param list_users_params[] = {
    { 0 },
};
/* clang-format on */

static int list_users_call(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    (void)args;
    return accounts_list(run, "/etc/passwd", ret, err);
}

const struct module module_user_list_users = {
    .name = "user.list_users",
    .summary = "the names of all local accounts",
    .params = list_users_params,
    .call = list_users_call,
};
