/*
 * account - users and groups of this machine.
 *
 * Lookups use the system's name services and may block; there is no cache. A
 * missing entry is a NULL result, not an error.
 *
 * Memory: results are in the arena. Threads: any.
 */
#ifndef CORE_SYS_ACCOUNT_H
#define CORE_SYS_ACCOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct err;

struct account {
    const char *name;
    uid_t uid;
    gid_t gid; /* the login group */
    const char *full_name, *home, *shell;
};

struct account_group {
    const char *name;
    gid_t gid;
    const char *const *members; /* ends in NULL */
};

struct account_gids {
    VEC(gid_t) list;
};

int account_find(struct arena *arena, const char *name, const struct account **ret_account,
                 struct err *err);
int account_find_uid(struct arena *arena, uid_t uid, const struct account **ret_account,
                     struct err *err);
int account_find_group(struct arena *arena, const char *name,
                       const struct account_group **ret_group, struct err *err);
int account_find_gid(struct arena *arena, gid_t gid, const struct account_group **ret_group,
                     struct err *err);

/* For messages: "'alice' (uid 1000)", or "uid 1000" where there is no account. */
const char *account_describe(struct arena *arena, uid_t uid);

/* Every group that the account is in, the login group first. */
int account_groups(struct arena *arena, const struct account *account,
                   struct account_gids *ret_gids, struct err *err);

/* A name or a number, in use or not. Fails with ERR_NOT_FOUND for an unknown name. */
int account_parse_user(const char *text, uid_t *ret_uid, struct err *err);
int account_parse_group(const char *text, gid_t *ret_gid, struct err *err);

/* "user", "user:group", ":group", and "user:" for the user with the login group. A missing part is
 * (uid_t)-1 or (gid_t)-1. */
struct account_owner {
    uid_t uid;
    gid_t gid;
};
int account_parse_owner(const char *text, struct account_owner *ret_owner, struct err *err);

#endif
