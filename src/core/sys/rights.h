/*
 * rights - access files with the permissions of another user.
 *
 * A root process must not follow a user's path with its own rights: it would read files for users
 * who may not read them. Between rights_take and rights_drop this thread, and no other, opens,
 * lists and stats files with the user, group and supplementary groups of another user, and without
 * the capabilities that override permissions. Everything else (signals, processes, sockets) stays
 * the same.
 *
 *     rights_load -> { rights_take -> calls on files -> rights_drop }...
 *
 * Without root, and for our own user, nothing changes.
 *
 * Memory: the arena given to rights_load. Threads: any; take and drop in the same one.
 */
#ifndef CORE_SYS_RIGHTS_H
#define CORE_SYS_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/str.h"

struct arena;
struct err;
struct fs_info;

struct rights {
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t group_count;
    bool own; /* those of this process: nothing to take */
};

/* The rights of a user with this group and the current groups of the account: a user who was
 * removed from a group has lost it. A number without an account has the one group. */
int rights_load(struct arena *arena, uid_t uid, gid_t gid, struct rights *ret_rights,
                struct err *err);
struct rights rights_copy(struct arena *arena, const struct rights *rights);
/* Is the group one of theirs? */
bool rights_has_group(const struct rights *rights, gid_t gid);

/* The state that rights_drop restores. */
struct rights_held {
    bool active;
    gid_t *groups;
    size_t group_count;
};
/* Fails, and changes nothing, when the system does not allow it. Keep the code in between short. */
int rights_take(const struct rights *rights, struct rights_held *ret_held, struct err *err);
/* Ends the process if the rights cannot be restored. Keeps errno. */
void rights_drop(struct rights_held *held);

/* fs_read and fs_stat with these rights; errors name the user. */
int rights_read(const struct rights *rights, struct arena *arena, const char *path, size_t max,
                struct str *ret_text, struct err *err);
int rights_stat(const struct rights *rights, const char *path, struct fs_info *ret_info,
                struct err *err);
/* open(2) for reading, without waiting for the other end of a fifo and without becoming the owner
 * of a terminal. */
int rights_open(const struct rights *rights, const char *path, int *ret_fd, struct err *err);

#endif
