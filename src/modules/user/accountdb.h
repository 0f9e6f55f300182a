/*
 * accountdb - the account files of this machine, read once and asked by name.
 *
 * The name services read a file from its beginning for every question. A thousand states
 * about accounts would be a thousand readings of a thousand lines; so what a file says is
 * kept here until it changes on disk.
 *
 * Only what the name services would answer from the files is answered here: where
 * nsswitch.conf asks somebody else first, or merges answers, nothing is known. "Not known"
 * (false) is no "not there": then the name services are to be asked.
 *
 * Memory: results are in the arena. Threads: any.
 */
#ifndef MODULES_USER_ACCOUNTDB_H
#define MODULES_USER_ACCOUNTDB_H

#include <stdbool.h>
#include <sys/types.h>

struct account;
struct account_group;
struct accounts_user;
struct arena;

bool accountdb_find_user(struct arena *arena, const char *name, const struct account **ret_account);
/* The hash and the days of `user`; its account is not looked at. */
bool accountdb_find_shadow(struct arena *arena, const char *name, struct accounts_user *user);
bool accountdb_find_group(struct arena *arena, const char *name,
                          const struct account_group **ret_group);
bool accountdb_find_gid(struct arena *arena, gid_t gid, const struct account_group **ret_group);

/* The number of a group, without the list of its members. */
bool accountdb_gid_of(const char *group, gid_t *ret_gid);
/* Does the file say that the user is in the group? */
bool accountdb_is_member(const char *group, const char *user);

#endif
