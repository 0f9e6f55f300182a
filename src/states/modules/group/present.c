/* group.present - manages a group. */

#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/modules/user/accounts.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/account.h"

#define ARGS struct group_args

struct group_args {
    const char *name;
    int64_t gid;
    bool has_gid, system, unique, non_unique, has_members;
    struct param_strs members, addusers, delusers;
};

/* clang-format off */
static const struct param group_params[] = {
    PARAM("name", STR, ARGS, name, "the group", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("gid", INT, ARGS, gid, "its ID (default: the next free one)", PARAM_GIVEN(ARGS, has_gid), PARAM_RANGE(0, UINT32_MAX - 1)),
    PARAM("system", BOOL, ARGS, system, "create it as a system group"),
    PARAM("unique", BOOL, ARGS, unique, "no other group may have this ID", .default_text = "true"),
    PARAM("non_unique", BOOL, ARGS, non_unique, "another group may have the number; the same as unique: false"),
    PARAM("members", STRS, ARGS, members, "exactly these members; an empty list: none", PARAM_GIVEN(ARGS, has_members)),
    PARAM("addusers", STRS, ARGS, addusers, "members to add"),
    PARAM("delusers", STRS, ARGS, delusers, "members to remove"),
    PARAM_IDLE("local", "groups are always those of this machine"),
    { 0 },
};
/* clang-format on */

static bool is_unique(const struct group_args *want)
{
    return want->unique && !want->non_unique;
}

static int present_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct group_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_USER, where, diags);

    if (validate_texts("members", want->members, VALIDATE_USER, where, diags) < 0 ||
        validate_texts("addusers", want->addusers, VALIDATE_USER, where, diags) < 0 ||
        validate_texts("delusers", want->delusers, VALIDATE_USER, where, diags) < 0)
        result = -1;
    if (want->has_members && (want->addusers.n > 0 || want->delusers.n > 0))
        result = value_diag(diags, value_point(where, "members"),
                            "'members' cannot be combined with 'addusers' or 'delusers'");
    for (size_t i = 0; i < want->addusers.n; i++)
        if (accounts_has(want->delusers, want->addusers.p[i]))
            result = value_diag(diags, where, "'%s' is in both 'addusers' and 'delusers'",
                                want->addusers.p[i]);
    return result;
}

static struct param_strs get_members(const struct account_group *group)
{
    size_t n = 0;

    while (group && group->members[n])
        n++;
    return (struct param_strs){ n, group ? group->members : NULL };
}

/* The members afterwards. */
static struct param_strs find_wanted_members(struct state_run *run, const struct group_args *want,
                                             struct param_strs now)
{
    const char **names =
        ARENA_ARRAY(run->arena, const char *, now.n + want->members.n + want->addusers.n + 1);
    struct param_strs all = { 0, names };
    const struct param_strs sources[] = { want->has_members ? want->members : now, want->addusers };

    for (size_t s = 0; s < ARRAY_LEN(sources); s++)
        for (size_t i = 0; i < sources[s].n; i++)
            if (!accounts_has(all, sources[s].p[i]) &&
                !accounts_has(want->delusers, sources[s].p[i]))
                names[all.n++] = sources[s].p[i];
    return all;
}

static void compare_members(struct state_run *run, const struct group_args *want,
                            struct param_strs now)
{
    if (want->has_members && !accounts_same(now, want->members))
        state_differs(run, "members [%s] != [%s]", accounts_join(run, now),
                      accounts_join(run, want->members));
    for (size_t i = 0; i < want->addusers.n; i++)
        if (!accounts_has(now, want->addusers.p[i]))
            state_differs(run, "missing member %s", want->addusers.p[i]);
    for (size_t i = 0; i < want->delusers.n; i++)
        if (accounts_has(now, want->delusers.p[i]))
            state_differs(run, "unwanted member %s", want->delusers.p[i]);
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct group_args *want = args;
    const struct account_group *group;

    if (accounts_find_group(run, want->name, &group, err) < 0)
        return -1;
    if (!group) {
        state_differs(run, "group %s does not exist", want->name);
        state_made(run, "created group %s", want->name);
    } else if (want->has_gid && want->gid != (int64_t)group->gid) {
        state_differs(run, "gid %u != %lld", group->gid, (long long)want->gid);
    }
    if (run->differs && want->has_gid && is_unique(want) &&
        accounts_foresee_gid(run, want->gid, want->name, err) < 0)
        return -1;
    if (!group)
        return 0;
    compare_members(run, want, get_members(group));
    if (!run->differs)
        state_say(run, "group %s is up to date", want->name);
    return 0;
}

static int create_group(struct state_run *run, const struct group_args *want, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    tool_add(&tool, &words, "groupadd");
    if (want->has_gid) {
        tool_add(&tool, &words, "-g");
        tool_add(&tool, &words, arena_printf(run->arena, "%lld", (long long)want->gid));
    }
    if (want->has_gid && !is_unique(want))
        tool_add(&tool, &words, "-o");
    if (want->system)
        tool_add(&tool, &words, "-r");
    tool_add(&tool, &words, want->name);
    return tool_run(&tool, tool_argv(&tool, &words), NULL, NULL, err);
}

static int set_gid(struct state_run *run, const struct group_args *want, struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *gid = arena_printf(run->arena, "%lld", (long long)want->gid);

    return tool_run(&tool,
                    is_unique(want) ? TOOL("groupmod", "-g", gid, want->name)
                                    : TOOL("groupmod", "-o", "-g", gid, want->name),
                    NULL, NULL, err);
}

static int set_members(struct state_run *run, const struct group_args *want,
                       struct param_strs members, struct err *err)
{
    const struct tool tool = run_tool(run);

    return tool_run(&tool, TOOL("gpasswd", "-M", accounts_join(run, members), want->name), NULL,
                    NULL, err);
}

static int report_group_changes(struct state_run *run, const struct group_args *want, bool fresh)
{
    state_say(run, "%s group %s", fresh ? "created" : "modified", want->name);
    state_detail(run, "group", "%s", want->name);
    state_detail(run, "action", "%s", fresh ? "created" : "modified");
    return 0;
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct group_args *want = args;
    const struct account_group *group;
    struct param_strs now, members;
    bool moves, fresh;

    if (accounts_find_group(run, want->name, &group, err) < 0)
        return -1;
    fresh = !group;
    now = get_members(group);
    members = find_wanted_members(run, want, now);
    moves = group && want->has_gid && want->gid != (int64_t)group->gid;
    if (!fresh && !moves && accounts_same(now, members)) {
        state_unchanged(run);
        return 0;
    }
    if (accounts_keep_group(run, want->name, err) < 0 ||
        (fresh && create_group(run, want, err) < 0) || (moves && set_gid(run, want, err) < 0) ||
        (!accounts_same(now, members) && set_members(run, want, members, err) < 0))
        return -1;
    return report_group_changes(run, want, fresh);
}

/* By groupmod, which takes the accounts along whose login group it is; lines alone would leave them
 * with a number that no group has. */
static int move_back(struct state_run *run, const struct account_group *group, bool *ret_changed,
                     struct err *err)
{
    const struct tool tool = run_tool(run);
    int64_t gid;

    if (!group || !accounts_kept_gid(run, &gid) || gid == (int64_t)group->gid)
        return 0;
    *ret_changed = true;
    return tool_run(
        &tool,
        TOOL("groupmod", "-o", "-g", arena_printf(run->arena, "%lld", (long long)gid), group->name),
        NULL, NULL, err);
}

static int present_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct group_args *want = args;
    const struct tool tool = run_tool(run);
    const struct account_group *group;
    bool changed = false;

    if (accounts_find_group(run, want->name, &group, err) < 0)
        return -1;
    if (!state_noted(run, "account") || (!group && !accounts_was_there(run))) {
        state_unchanged(run);
        return 0;
    }
    if (run->test) {
        run->destroys |= !accounts_was_there(run);
        state_say(run, accounts_was_there(run) ? "would restore group %s" : "would delete group %s",
                  want->name);
        return 0;
    }
    if (!accounts_was_there(run)) {
        state_say(run, "deleted group %s (revert create)", want->name);
        return tool_run(&tool, TOOL("groupdel", want->name), NULL, NULL, err);
    }
    if (move_back(run, group, &changed, err) < 0 ||
        accounts_restore_group(run, want->name, &changed, err) < 0)
        return -1;
    if (changed)
        state_say(run, "reverted group %s to original state", want->name);
    else
        state_unchanged(run);
    return 0;
}

const struct module module_group_present = {
    .name = "group.present",
    .summary = "manage a group: its ID and members",
    .example = "name: deployers\ngid: 1500\n",
    .params = group_params,
    .args_size = sizeof(struct group_args),
    .lock = ACCOUNTS_LOCK,
    .validate = present_validate,
    .check = present_check,
    .apply = present_apply,
    .flags = MODULE_DRY_REVERT,
    .revert = present_revert,
};
