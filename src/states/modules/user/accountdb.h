/*
 * accountdb - the account files of this machine, indexed by name.
 *
 * The name services read a file from the start for every query. A thousand account states would
 * parse a thousand lines a thousand times, so parsed files are cached here until they change on
 * disk.
 *
 * Only what the name services would answer from the files is answered here: if nsswitch.conf puts
 * another source first, or merges answers, nothing is known. "Not known" (false) does not mean
 * "does not exist": the caller must ask the name services.
 *
 * Memory: results are in the arena. Threads: any.
 */
#ifndef STATES_MODULES_USER_ACCOUNTDB_H
#define STATES_MODULES_USER_ACCOUNTDB_H

#include <stdbool.h>
#include <sys/types.h>

struct account;
struct account_group;
struct accounts_user;
struct arena;

bool accountdb_find_user(struct arena *arena, const char *name, const struct account **ret_account);
/* The hash and the days of `user`; the account itself is not checked. */
bool accountdb_find_shadow(struct arena *arena, const char *name, struct accounts_user *user);
bool accountdb_find_group(struct arena *arena, const char *name,
                          const struct account_group **ret_group);
bool accountdb_find_gid(struct arena *arena, gid_t gid, const struct account_group **ret_group);

/* The ID of a group, without its members. */
bool accountdb_gid_of(const char *group, gid_t *ret_gid);
/* Does the file list the user as a member of the group? */
bool accountdb_is_member(const char *group, const char *user);

#endif
