#include "core/sys/account.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"

#define FIRST_SIZE ((size_t)1 << 12)
/* A group with a hundred thousand members fits. */
#define ENTRY_SIZE_MAX ((size_t)4 << 20)
#define GROUPS_FIRST   64
/* The kernel's NGROUPS_MAX. */
#define GROUPS_MAX 65536

/* By name, or by number if the name is NULL. */
struct account_key {
    const char *name;
    id_t id;
};

/* errno values of the get...r functions for "no such entry", besides 0 without a result. */
static bool is_account_absence(int errnum)
{
    return errnum == 0 || errnum == ENOENT || errnum == ESRCH || errnum == EBADF || errnum == EPERM;
}

static int refuse_large_entry(size_t size, struct err *err)
{
    return err_set(err, ERR_LIMIT, "entry larger than the limit of %zu bytes", size);
}

static int find_user_by(struct arena *arena, struct account_key key,
                        const struct account **ret_account, struct err *err)
{
    for (size_t size = FIRST_SIZE; size <= ENTRY_SIZE_MAX; size *= 2) {
        char *room = arena_alloc(arena, size);
        struct passwd entry, *found = NULL;
        int errnum = key.name ? getpwnam_r(key.name, &entry, room, size, &found)
                              : getpwuid_r(key.id, &entry, room, size, &found);

        if (errnum == ERANGE)
            continue;
        if (!found && !is_account_absence(errnum))
            return err_sys(err, errnum, "ask the name service");
        *ret_account = NULL;
        if (found) {
            struct account *account = ARENA_NEW(arena, struct account);

            *account = (struct account){ entry.pw_name,  entry.pw_uid, entry.pw_gid,
                                         entry.pw_gecos, entry.pw_dir, entry.pw_shell };
            *ret_account = account;
        }
        return 0;
    }
    return refuse_large_entry(ENTRY_SIZE_MAX, err);
}

static int find_group_by(struct arena *arena, struct account_key key,
                         const struct account_group **ret_group, struct err *err)
{
    for (size_t size = FIRST_SIZE; size <= ENTRY_SIZE_MAX; size *= 2) {
        char *room = arena_alloc(arena, size);
        struct group entry, *found = NULL;
        int errnum = key.name ? getgrnam_r(key.name, &entry, room, size, &found)
                              : getgrgid_r(key.id, &entry, room, size, &found);

        if (errnum == ERANGE)
            continue;
        if (!found && !is_account_absence(errnum))
            return err_sys(err, errnum, "ask the name service");
        *ret_group = NULL;
        if (found) {
            struct account_group *group = ARENA_NEW(arena, struct account_group);

            *group = (struct account_group){ entry.gr_name, entry.gr_gid,
                                             (const char *const *)entry.gr_mem };
            *ret_group = group;
        }
        return 0;
    }
    return refuse_large_entry(ENTRY_SIZE_MAX, err);
}

int account_find(struct arena *arena, const char *name, const struct account **ret_account,
                 struct err *err)
{
    if (find_user_by(arena, (struct account_key){ .name = name }, ret_account, err) < 0)
        return err_wrap(err, "find the user '%s'", name);
    return 0;
}

int account_find_uid(struct arena *arena, uid_t uid, const struct account **ret_account,
                     struct err *err)
{
    if (find_user_by(arena, (struct account_key){ .id = uid }, ret_account, err) < 0)
        return err_wrap(err, "find the user %u", uid);
    return 0;
}

int account_find_group(struct arena *arena, const char *name,
                       const struct account_group **ret_group, struct err *err)
{
    if (find_group_by(arena, (struct account_key){ .name = name }, ret_group, err) < 0)
        return err_wrap(err, "find the group '%s'", name);
    return 0;
}

int account_find_gid(struct arena *arena, gid_t gid, const struct account_group **ret_group,
                     struct err *err)
{
    if (find_group_by(arena, (struct account_key){ .id = gid }, ret_group, err) < 0)
        return err_wrap(err, "find the group %u", gid);
    return 0;
}

const char *account_describe(struct arena *arena, uid_t uid)
{
    const struct account *account;
    struct err ignored;

    if (account_find_uid(arena, uid, &account, &ignored) < 0 || !account)
        return arena_printf(arena, "uid %u", uid);
    return arena_printf(arena, "'%s' (uid %u)", account->name, uid);
}

int account_groups(struct arena *arena, const struct account *account,
                   struct account_gids *ret_gids, struct err *err)
{
    int count = GROUPS_FIRST;

    for (int room = count; room <= GROUPS_MAX; room = count > room ? count : room * 2) {
        gid_t *list = ARENA_ARRAY(arena, gid_t, (size_t)room);

        count = room;
        if (getgrouplist(account->name, account->gid, list, &count) < 0)
            continue;
        *ret_gids = (struct account_gids){ { list, (size_t)count, (size_t)room } };
        return 0;
    }
    return err_set(err, ERR_LIMIT, "user '%s' is in more groups than the limit of %d",
                   account->name, GROUPS_MAX);
}

/* --- text ------------------------------------------------------------------------------ */

/* Decimal digits only; the highest number means "none" to the kernel. */
static bool parse_id(const char *text, id_t *ret_id)
{
    uint64_t n = 0;

    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9')
            return false;
        n = n * 10 + (uint64_t)(*at - '0');
        if (n >= UINT32_MAX)
            return false;
    }
    *ret_id = (id_t)n;
    return text[0] != '\0';
}

/* A name may consist of digits, so names come first. */
static int parse_user(struct arena *arena, const char *text, uid_t *ret_uid, gid_t *ret_gid,
                      struct err *err)
{
    const struct account *account;
    id_t id;

    if (account_find(arena, text, &account, err) < 0)
        return -1;
    if (!account && !parse_id(text, &id))
        return err_set(err, ERR_NOT_FOUND, "no user '%s'", text);
    if (!account && account_find_uid(arena, id, &account, err) < 0)
        return -1;
    *ret_uid = account ? account->uid : id;
    *ret_gid = account ? account->gid : (gid_t)-1;
    return 0;
}

int account_parse_user(const char *text, uid_t *ret_uid, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    gid_t gid;

    return parse_user(&arena, text, ret_uid, &gid, err);
}

int account_parse_group(const char *text, gid_t *ret_gid, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct account_group *group;
    id_t id;

    if (account_find_group(&arena, text, &group, err) < 0)
        return -1;
    if (!group && !parse_id(text, &id))
        return err_set(err, ERR_NOT_FOUND, "no group '%s'", text);
    *ret_gid = group ? group->gid : id;
    return 0;
}

int account_parse_owner(const char *text, struct account_owner *ret_owner, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct account_owner owner = { (uid_t)-1, (gid_t)-1 };
    struct str rest = str_from(text);
    struct str user = str_cut(&rest, ':');
    gid_t login = (gid_t)-1;

    if (user.n > 0 &&
        parse_user(&arena, arena_strndup(&arena, user.p, user.n), &owner.uid, &login, err) < 0)
        return -1;
    if (rest.p && rest.n > 0) {
        if (account_parse_group(rest.p, &owner.gid, err) < 0)
            return -1;
    } else if (rest.p && login == (gid_t)-1) {
        return err_set(err, ERR_INVALID, "'%s': no login group", text);
    } else if (rest.p) {
        owner.gid = login;
    }
    if (user.n == 0 && !rest.p)
        return err_set(err, ERR_INVALID, "an owner is 'user', 'user:group' or ':group'");
    *ret_owner = owner;
    return 0;
}
