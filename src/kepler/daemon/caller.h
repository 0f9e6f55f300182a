/*
 * caller - who asks something of the daemon, as the accounts of the machine say it now.
 *
 * Root, and the user who runs the daemon, may do everything; others must be in the group of the
 * daemon. All of it is looked up afresh: who was put out of the group has lost it at once.
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

/* The standing of a user. */
enum caller_standing {
    CALLER_MEMBER, /* or root, or the user who runs the daemon */
    CALLER_STRANGER,
    CALLER_NO_GROUP, /* there is no such group, so there are no members */
    CALLER_PRIVATE,  /* the daemon belongs to one user, and this is another */
};

/* Root, or the user who runs the daemon. */
bool caller_is_master(uid_t uid);
/* Without a token. Who has no account is in the group `gid`. Groups have numbers only. */
struct acl_caller caller_find(struct arena *arena, uid_t uid, gid_t gid);
enum caller_standing caller_standing(struct arena *arena, const struct acl_caller *caller);
/* For the caller: why it may ask for nothing, and what to do about it; NULL for a member. */
const char *caller_refusal(enum caller_standing standing);
/* The same about somebody else. */
const char *caller_obstacle(enum caller_standing standing);

/* Look up the names of its groups; each is a lookup, so only once. */
void caller_name_groups(struct arena *arena, struct acl_caller *caller);
/* May they read the file? */
int caller_can_read(const struct acl_caller *caller, const char *path, struct err *err);

#endif
