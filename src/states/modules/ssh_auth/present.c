/* ssh_auth.present - authorizes a public key for a user. */
#include "states/modules/ssh_auth/authkeys.h"
#include "states/state/module.h"

#define ARGS struct authkeys_args

/* clang-format off */
static const struct param present_params[] = {
    AUTHKEYS_PARAMS(ARGS, ),
    AUTHKEYS_ADDED_PARAMS(ARGS),
    { 0 },
};
/* clang-format on */

AUTHKEYS_STATE(false)

const struct module module_ssh_auth_present = {
    .name = "ssh_auth.present",
    .summary = "authorize a public key for a user",
    .example = "name: AAAAC3NzaC1lZDI1NTE5AAAAIGfakefakefakefakefakefakefakefakefakefake00\nenc: "
               "ssh-ed25519\ncomment: ada@example.org\nconfig: ROOT/authorized_keys\n",
    .params = present_params,
    .validate = authkeys_validate,
    AUTHKEYS_STATE_FIELDS,
};
