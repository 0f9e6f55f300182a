/* ssh_auth.present - a public key with which a user may log in. */
#include "base/err.h"
#include "modules/ssh_auth/authkeys.h"
#include "state/module.h"

#define ARGS struct present_args

struct present_args {
    struct authkeys_args key;
};

/* clang-format off */
static const struct param present_params[] = {
    AUTHKEYS_PARAMS(ARGS, key),
    PARAM("comment", STR, ARGS, key.comment, "words behind the key"),
    PARAM("options", STRS, ARGS, key.options, "what the key may do: no-pty, command=\"...\", from=\"...\""),
    { 0 },
};
/* clang-format on */

static struct authkeys_args key_of(const void *args)
{
    struct authkeys_args key = ((const struct present_args *)args)->key;

    key.absent = false;
    return key;
}

static int present_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct authkeys_args key = key_of(args);

    return authkeys_validate(&key, where, diags);
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct authkeys_args key = key_of(args);

    return authkeys_check(run, &key, err);
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct authkeys_args key = key_of(args);

    return authkeys_apply(run, &key, err);
}

const struct module module_ssh_auth_present = {
    .name = "ssh_auth.present",
    .summary = "a public key with which a user may log in",
    .example = "name: AAAAC3NzaC1lZDI1NTE5AAAAIGfakefakefakefakefakefakefakefakefakefake00\nenc: "
               "ssh-ed25519\ncomment: ada@example.org\nconfig: ROOT/authorized_keys\n",
    .params = present_params,
    .args_size = sizeof(struct present_args),
    .validate = present_validate,
    .check = present_check,
    .apply = present_apply,
};
