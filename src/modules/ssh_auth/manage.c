/* ssh_auth.manage - the authorized public keys of a user, and no others. */
#include "modules/ssh_auth/authkeys.h"
#include "state/module.h"

#define ARGS struct authkeys_args

/* clang-format off */
static const struct param manage_params[] = {
    PARAM("name", STR, ARGS, name, "any text", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("ssh_keys", STRS, ARGS, keys, "the public keys: their base64, or whole lines", .flags = PARAM_REQUIRED | PARAM_FILLED),
    AUTHKEYS_FILE_PARAMS(ARGS, ),
    PARAM("comment", STR, ARGS, comment, "comment of the keys"),
    PARAM("options", STRS, ARGS, options, "options of the keys: no-pty, from=\"...\""),
    PARAM_IDLE("fingerprint_hash_type", "keys are compared whole"),
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
    .args_size = sizeof(struct authkeys_args),
    .validate = authkeys_validate_keys,
    .check = state_check,
    .apply = state_apply,
};
