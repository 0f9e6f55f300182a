/* ssh_auth.present - authorizes a public key for a user. */
#include "modules/ssh_auth/authkeys.h"
#include "state/module.h"

#define ARGS struct authkeys_args

/* clang-format off */
static const struct param present_params[] = {
    AUTHKEYS_PARAMS(ARGS, ),
    PARAM("comment", STR, ARGS, comment, "comment of the key"),
    PARAM("options", STRS, ARGS, options, "options of the key: no-pty, command=\"...\", from=\"...\""),
    PARAM_IDLE("fingerprint_hash_type", "keys are compared whole"),
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
    AUTHKEYS_STATE_FIELDS,
};
