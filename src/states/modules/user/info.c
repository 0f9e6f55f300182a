/* user.info - returns information about a user account. */
#include "core/base/err.h"
#include "states/modules/user/accounts.h"
#include "states/state/module.h"
#include "core/sys/account.h"

#define ARGS struct info_args

struct info_args {
    const char *name;
};

static const struct param info_params[] = {
    PARAM("name", STR, ARGS, name, "the account", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};

static int info_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct info_args *want = args;
    struct value_map *map = value_map_new(run->arena, 8);
    struct value_list *groups = value_list_new(run->arena, 4);
    const struct account_group *login;
    struct param_strs others;
    struct accounts_user now;

    if (accounts_find_user(run, want->name, &now, err) < 0)
        return -1;
    *ret = value_map(map);
    if (!now.account)
        return 0;
    if (account_find_gid(run->arena, now.account->gid, &login, err) < 0 ||
        accounts_find_groups(run, now.account, &others, err) < 0)
        return -1;
    if (login)
        value_list_push(run->arena, groups, value_text(login->name));
    for (size_t i = 0; i < others.n; i++)
        value_list_push(run->arena, groups, value_text(others.p[i]));

    const struct {
        const char *key;
        struct value value;
    } fields[] = {
        { "name", value_text(now.account->name) },
        { "uid", value_int(now.account->uid) },
        { "gid", value_int(now.account->gid) },
        { "home", value_text(now.account->home) },
        { "shell", value_text(now.account->shell) },
        { "fullname", value_text(now.account->full_name) },
        { "groups", value_list(groups) },
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        value_map_set(run->arena, map, value_text(fields[i].key), fields[i].value);
    return 0;
}

const struct module module_user_info = {
    .name = "user.info",
    .summary = "information about a user account, or an empty map",
    .example = "name: root\n",
    .params = info_params,
    .args_size = sizeof(struct info_args),
    .call = info_call,
};
