/*
 * caller - identifies a caller of the daemon from the machine's current accounts.
 *
 * Root, and the user who runs the daemon, may do everything; others must be in the daemon's group.
 * Everything is looked up each time: removal from the group takes effect immediately.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef KEPLER_DAEMON_CALLER_H
#define KEPLER_DAEMON_CALLER_H

#include <stdbool.h>
#include <sys/types.h>

struct acl_caller;
struct arena;
struct err;

/* A user's access to the daemon. */
enum caller_standing {
    CALLER_MEMBER, /* or root, or the user who runs the daemon */
    CALLER_STRANGER,
    CALLER_NO_GROUP, /* the group does not exist, so there are no members */
    CALLER_PRIVATE,  /* the daemon belongs to another user */
};

/* Root, or the user who runs the daemon. */
bool caller_is_master(uid_t uid);
/* Without a token. A user without an account is in the group `gid`. Groups have numbers only. */
struct acl_caller caller_find(struct arena *arena, uid_t uid, gid_t gid);
enum caller_standing caller_standing(struct arena *arena, const struct acl_caller *caller);
/* For the caller: why it has no access, and what to do about it; NULL for a member. */
const char *caller_refusal(enum caller_standing standing);
/* The same about another user. */
const char *caller_obstacle(enum caller_standing standing);

/* Looks up the names of its groups; each is a lookup, so only once. */
void caller_name_groups(struct arena *arena, struct acl_caller *caller);
/* May this caller read the file? */
int caller_can_read(const struct acl_caller *caller, const char *path, struct err *err);

#endif
