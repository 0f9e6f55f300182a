/* ssh_auth.absent - a public key with which nobody may log in. */
#include "base/err.h"
#include "modules/ssh_auth/authkeys.h"
#include "state/module.h"

#define ARGS struct absent_args

struct absent_args {
    struct authkeys_args key;
};

/* clang-format off */
static const struct param absent_params[] = {
    AUTHKEYS_PARAMS(ARGS, key),
    PARAM("comment", STR, ARGS, key.comment, "not looked at", .flags = PARAM_HIDDEN),
    PARAM("options", STRS, ARGS, key.options, "not looked at", .flags = PARAM_HIDDEN),
    { 0 },
};
/* clang-format on */

static struct authkeys_args key_of(const void *args)
{
    struct authkeys_args key = ((const struct absent_args *)args)->key;

    key.absent = true;
    return key;
}

static int absent_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct authkeys_args key = key_of(args);

    return authkeys_validate(&key, where, diags);
}

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct authkeys_args key = key_of(args);

    return authkeys_check(run, &key, err);
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct authkeys_args key = key_of(args);

    return authkeys_apply(run, &key, err);
}

const struct module module_ssh_auth_absent = {
    .name = "ssh_auth.absent",
    .summary = "a public key with which nobody may log in",
    .example =
        "name: AAAAC3NzaC1lZDI1NTE5AAAAIGfakefakefakefakefakefakefakefakefakefake00\nuser: ada\n",
    .params = absent_params,
    .args_size = sizeof(struct absent_args),
    .validate = absent_validate,
    .check = absent_check,
    .apply = absent_apply,
};
