#include "core/sys/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/account.h"
#include "core/sys/fs.h"

/* setfsuid and setfsgid take this as "return the current id, change nothing". */
#define ASK ((uid_t)-1)

int rights_load(struct arena *arena, uid_t uid, gid_t gid, struct rights *ret_rights,
                struct err *err)
{
    struct account_gids gids = { VEC_INIT };
    const struct account *account;

    if (account_find_uid(arena, uid, &account, err) < 0)
        return -1;
    if (account && account_groups(arena, account, &gids, err) < 0)
        return -1;
    VEC_PUSH_IN(arena, &gids.list, gid);
    *ret_rights = (struct rights){ .uid = uid,
                                   .gid = gid,
                                   .groups = gids.list.p,
                                   .group_count = gids.list.n,
                                   .own = geteuid() != 0 || uid == 0 };
    return 0;
}

struct rights rights_copy(struct arena *arena, const struct rights *rights)
{
    gid_t *groups = ARENA_ARRAY(arena, gid_t, rights->group_count + 1);
    struct rights copy = *rights;

    for (size_t i = 0; i < rights->group_count; i++)
        groups[i] = rights->groups[i];
    copy.groups = groups;
    return copy;
}

bool rights_has_group(const struct rights *rights, gid_t gid)
{
    for (size_t i = 0; i < rights->group_count; i++)
        if (rights->groups[i] == gid)
            return true;
    return rights->gid == gid;
}

/* --- being another user ----------------------------------------------------------------- */

/* The raw system call, since libc's wrapper changes all threads. */
static int set_groups(const gid_t *groups, size_t count)
{
    return (int)syscall(SYS_setgroups, count, groups);
}

/* Both change this thread only, and do not report failure: check afterwards. */
static bool set_ids(uid_t uid, gid_t gid)
{
    (void)setfsgid(gid);
    (void)setfsuid(uid);
    return (uid_t)setfsuid(ASK) == uid && (gid_t)setfsgid(ASK) == gid;
}

static int keep_groups(struct rights_held *ret_held, struct err *err)
{
    int count = getgroups(0, NULL);

    if (count < 0)
        return err_sys(err, errno, "get our groups");

    AUTO_FREE gid_t *groups = mem_alloc(mem_product((size_t)count + 1, sizeof(gid_t)));

    count = getgroups(count, groups);
    if (count < 0)
        return err_sys(err, errno, "get our groups");
    ret_held->groups = groups;
    ret_held->group_count = (size_t)count;
    groups = NULL; /* has the other rights now */
    return 0;
}

int rights_take(const struct rights *rights, struct rights_held *ret_held, struct err *err)
{
    struct rights_held held = { .active = true };

    if (rights->own) {
        *ret_held = (struct rights_held){ 0 };
        return 0;
    }
    if (keep_groups(&held, err) < 0)
        return -1;
    if (set_groups(rights->groups, rights->group_count) < 0) {
        free(held.groups);
        return err_sys(err, errno, "take the groups of user %u", rights->uid);
    }
    if (!set_ids(rights->uid, rights->gid)) {
        rights_drop(&held);
        return err_sys(err, EPERM, "take the rights of user %u", rights->uid);
    }
    *ret_held = held;
    return 0;
}

void rights_drop(struct rights_held *held)
{
    int errnum = errno;

    if (!held->active)
        return;
    if (!set_ids(geteuid(), getegid()) || set_groups(held->groups, held->group_count) < 0)
        abort(); /* all later work would run with the wrong rights */
    free(held->groups);
    *held = (struct rights_held){ 0 };
    errno = errnum;
}

/* --- what is done with it --------------------------------------------------------------- */

static int tell_who(const struct rights *rights, int rc, struct err *err)
{
    if (rc < 0 && !rights->own)
        return err_wrap(err, "as user %u", rights->uid);
    return rc;
}

int rights_read(const struct rights *rights, struct arena *arena, const char *path, size_t max,
                struct str *ret_text, struct err *err)
{
    struct rights_held held;
    int rc;

    if (rights_take(rights, &held, err) < 0)
        return -1;
    rc = fs_read(arena, path, max, ret_text, err);
    rights_drop(&held);
    return tell_who(rights, rc, err);
}

int rights_stat(const struct rights *rights, const char *path, struct fs_info *ret_info,
                struct err *err)
{
    struct rights_held held;
    int rc;

    if (rights_take(rights, &held, err) < 0)
        return -1;
    rc = fs_stat(path, ret_info, err);
    rights_drop(&held);
    return tell_who(rights, rc, err);
}

int rights_open(const struct rights *rights, const char *path, int *ret_fd, struct err *err)
{
    struct rights_held held;
    int fd;

    if (rights_take(rights, &held, err) < 0)
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    rights_drop(&held);
    if (fd < 0)
        return tell_who(rights, err_sys(err, errno, "read '%s'", path), err);
    *ret_fd = fd;
    return 0;
}
