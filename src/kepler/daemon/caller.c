#include "kepler/daemon/caller.h"

#include <unistd.h>

#include "kepler/access/acl.h"
#include "core/base/arena.h"
#include "core/base/err.h"
#include "kepler/daemon/daemon.h"
#include "core/sys/account.h"
#include "core/sys/fd.h"
#include "core/sys/rights.h"

#define OR_YOUR_OWN                                                                                \
    "; or run your own daemon: 'kepler daemon start -d' with KEPLER_DAEMON_PATH set to a "         \
    "folder of yours"

static const struct {
    const char *refusal, *obstacle;
} texts[] = {
    [CALLER_MEMBER] = { NULL, NULL },
    [CALLER_STRANGER] = { "this daemon serves root and members of the group '" DAEMON_GROUP
                          "': ask root for 'usermod -aG " DAEMON_GROUP " <you>'" OR_YOUR_OWN,
                          "not in the group '" DAEMON_GROUP "'" },
    [CALLER_NO_GROUP] = { "this daemon only serves root, since there is no group '" DAEMON_GROUP
                          "' on this machine: ask root for 'groupadd --system " DAEMON_GROUP
                          "' and 'usermod -aG " DAEMON_GROUP " <you>'" OR_YOUR_OWN,
                          "there is no group '" DAEMON_GROUP "' on this machine" },
    [CALLER_PRIVATE] = { "this daemon serves the user who runs it" OR_YOUR_OWN,
                         "this daemon serves the user who runs it" },
};

bool caller_is_master(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

struct acl_caller caller_find(struct arena *arena, uid_t uid, gid_t gid)
{
    struct acl_caller caller = { .kind = caller_is_master(uid) ? ACL_ROOT : ACL_MEMBER,
                                 .uid = uid,
                                 .gid = gid };
    struct account_gids gids = { VEC_INIT };
    const struct account *account;
    struct err ignored; /* then it is in no group */

    if (account_find_uid(arena, uid, &account, &ignored) < 0)
        return caller;
    if (!account)
        VEC_PUSH_IN(arena, &gids.list, gid);
    else if (account_groups(arena, account, &gids, &ignored) < 0)
        gids.list.n = 0;
    caller.name = account ? account->name : NULL;
    VEC_EACH (&gids.list, one)
        VEC_PUSH_IN(arena, &caller.groups, ((struct acl_group){ *one, NULL }));
    return caller;
}

enum caller_standing caller_standing(struct arena *arena, const struct acl_caller *caller)
{
    const struct account_group *group;
    struct err err;

    if (caller->kind == ACL_ROOT)
        return CALLER_MEMBER;
    if (geteuid() != 0)
        return CALLER_PRIVATE;
    if (account_find_group(arena, DAEMON_GROUP, &group, &err) < 0 || !group)
        return CALLER_NO_GROUP;
    VEC_EACH (&caller->groups, one)
        if (one->gid == group->gid)
            return CALLER_MEMBER;
    return CALLER_STRANGER;
}

const char *caller_refusal(enum caller_standing standing)
{
    return texts[standing].refusal;
}

const char *caller_obstacle(enum caller_standing standing)
{
    return texts[standing].obstacle;
}

void caller_name_groups(struct arena *arena, struct acl_caller *caller)
{
    const struct account_group *group;
    struct err ignored;

    if (caller->groups_named)
        return;
    caller->groups_named = true;
    VEC_EACH (&caller->groups, one)
        if (account_find_gid(arena, one->gid, &group, &ignored) == 0 && group)
            one->name = group->name;
}

int caller_can_read(const struct acl_caller *caller, const char *path, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct rights rights;
    AUTO_FD int fd = -1;

    if (rights_load(&arena, caller->uid, caller->gid, &rights, err) < 0)
        return -1;
    return rights_open(&rights, path, &fd, err);
}
