/* user.absent - removes a user account. */
#include "core/base/err.h"
#include "states/modules/user/accounts.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/account.h"

#define ARGS struct absent_args

struct absent_args {
    const char *name;
    bool purge, force;
};

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, ARGS, name, "the account", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("purge", BOOL, ARGS, purge, "remove its home and mail too"),
    PARAM("force", BOOL, ARGS, force, "even if the user is logged in"),
    PARAM_IDLE("local", "accounts are always those of this machine"),
    { 0 },
};
/* clang-format on */

static int absent_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct absent_args *want = args;

    return validate_text("name", want->name, VALIDATE_USER, where, diags);
}

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    struct accounts_user now;

    if (accounts_find_user(run, want->name, &now, err) < 0)
        return -1;
    accounts_check_absent(run, "user", want->name, now.account != NULL);
    return 0;
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    struct accounts_user now;

    if (accounts_find_user(run, want->name, &now, err) < 0)
        return -1;
    if (!now.account) {
        state_unchanged(run);
        return 0;
    }
    if (accounts_keep_user(run, want->name, err) < 0 ||
        accounts_delete_user(run, want->name, want->force,
                             "end its processes first, or set 'force: true'", err) < 0)
        return -1;
    if (want->purge &&
        (accounts_remove_own(run, now.account->home, now.account->uid, err) < 0 ||
         accounts_remove_own(run, accounts_mailbox(run, want->name), now.account->uid, err) < 0))
        return -1;
    state_say(run, "deleted user %s", want->name);
    state_detail(run, "user", "%s", want->name);
    state_detail_value(run, "purge", value_bool(want->purge));
    return 0;
}

static int absent_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;

    return accounts_bring_back(run, "user", want->name, accounts_restore_user, err);
}

const struct module module_user_absent = {
    .name = "user.absent",
    .summary = "remove a user account",
    .details =
        "A revert restores the account with its ID, password and groups, and the purged home.",
    .example = "name: olduser\npurge: true\n",
    .params = absent_params,
    .args_size = sizeof(struct absent_args),
    .lock = ACCOUNTS_LOCK,
    .validate = absent_validate,
    .check = absent_check,
    .apply = absent_apply,
    .flags = MODULE_DRY_REVERT,
    .revert = absent_revert,
};
