/* ssh_auth.absent - removes an authorized public key. */
#include "states/modules/ssh_auth/authkeys.h"
#include "states/state/module.h"

#define ARGS struct authkeys_args

/* clang-format off */
static const struct param absent_params[] = {
    AUTHKEYS_PARAMS(ARGS, ),
    PARAM_IDLE("comment", "a key is found by itself"),
    PARAM_IDLE("options", "a key is found by itself"),
    PARAM_IDLE("fingerprint_hash_type", "keys are compared whole"),
    { 0 },
};
/* clang-format on */

AUTHKEYS_STATE(true)

const struct module module_ssh_auth_absent = {
    .name = "ssh_auth.absent",
    .summary = "remove an authorized public key",
    .example =
        "name: AAAAC3NzaC1lZDI1NTE5AAAAIGfakefakefakefakefakefakefakefakefakefake00\nuser: ada\n",
    .params = absent_params,
    .validate = authkeys_validate,
    AUTHKEYS_STATE_FIELDS,
};
