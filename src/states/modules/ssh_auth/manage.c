/* ssh_auth.manage - the authorized public keys of a user, and no others. */
#include "states/modules/ssh_auth/authkeys.h"
#include "states/state/module.h"

#define ARGS struct authkeys_args

/* clang-format off */
static const struct param manage_params[] = {
    PARAM("name", STR, ARGS, name, "any text", .flags = PARAM_PRIMARY),
    PARAM("ssh_keys", STRS, ARGS, keys, "the public keys: their base64, or whole lines", .flags = PARAM_REQUIRED | PARAM_FILLED),
    AUTHKEYS_FILE_PARAMS(ARGS, ),
    AUTHKEYS_ADDED_PARAMS(ARGS),
    { 0 },
};
/* clang-format on */

AUTHKEYS_STATE(false)

const struct module module_ssh_auth_manage = {
    .name = "ssh_auth.manage",
    .summary = "the authorized public keys of a user, and no others",
    .details = "Other keys are removed from the file; comments and empty lines stay.",
    .example = "name: keys\nssh_keys: "
               "[AAAAC3NzaC1lZDI1NTE5AAAAIGfakefakefakefakefakefakefakefakefakefake00]\n"
               "enc: ssh-ed25519\nconfig: ROOT/authorized_keys\n",
    .params = manage_params,
    .validate = authkeys_validate_keys,
    AUTHKEYS_STATE_FIELDS,
};
