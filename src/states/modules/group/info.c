/* group.info - returns information about a group. */
#include "core/base/err.h"
#include "states/modules/user/accounts.h"
#include "states/state/module.h"
#include "core/sys/account.h"

#define ARGS struct info_args

struct info_args {
    const char *name;
};

static const struct param info_params[] = {
    PARAM("name", STR, ARGS, name, "the group", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};

static int info_call(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct info_args *want = args;
    struct value_map *map = value_map_new(run->arena, 4);
    struct value_list *members = value_list_new(run->arena, 4);
    const struct account_group *group;

    if (accounts_find_group(run, want->name, &group, err) < 0)
        return -1;
    *ret = value_map(map);
    if (!group)
        return 0;
    for (size_t i = 0; group->members[i]; i++)
        value_list_push(run->arena, members, value_text(group->members[i]));
    value_map_set(run->arena, map, value_text("name"), value_text(group->name));
    value_map_set(run->arena, map, value_text("passwd"), value_text("x")); /* as in /etc/group */
    value_map_set(run->arena, map, value_text("gid"), value_int(group->gid));
    value_map_set(run->arena, map, value_text("members"), value_list(members));
    return 0;
}

const struct module module_group_info = {
    .name = "group.info",
    .summary = "information about a group, or an empty map",
    .example = "name: root\n",
    .params = info_params,
    .args_size = sizeof(struct info_args),
    .call = info_call,
};
