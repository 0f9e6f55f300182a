/* group.absent - removes a group. */
#include "core/base/err.h"
#include "states/modules/user/accounts.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct absent_args

struct absent_args {
    const char *name;
};

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, ARGS, name, "the group", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM_IDLE("local", "groups are always those of this machine"),
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
    const struct account_group *group;

    if (accounts_find_group(run, want->name, &group, err) < 0)
        return -1;
    accounts_check_absent(run, "group", want->name, group != NULL);
    return group ? accounts_foresee_login_group(run, group, err) : 0;
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    const struct tool tool = run_tool(run);
    const struct account_group *group;

    if (accounts_find_group(run, want->name, &group, err) < 0)
        return -1;
    if (!group) {
        state_unchanged(run);
        return 0;
    }
    if (accounts_keep_group(run, want->name, err) < 0 ||
        tool_run(&tool, TOOL("groupdel", want->name), NULL, NULL, err) < 0)
        return -1;
    state_say(run, "deleted group %s", want->name);
    state_detail(run, "group", "%s", want->name);
    return 0;
}

static int absent_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;

    return accounts_bring_back(run, "group", want->name, accounts_restore_group, err);
}

const struct module module_group_absent = {
    .name = "group.absent",
    .summary = "remove a group",
    .example = "name: oldgroup\n",
    .params = absent_params,
    .args_size = sizeof(struct absent_args),
    .lock = ACCOUNTS_LOCK,
    .validate = absent_validate,
    .check = absent_check,
    .apply = absent_apply,
    .flags = MODULE_DRY_REVERT,
    .revert = absent_revert,
};
