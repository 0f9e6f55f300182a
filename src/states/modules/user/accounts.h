/*
 * accounts - users and groups: reading, noting and restoring them.
 *
 * Accounts are read through the name services and changed by the system's own programs. Before a
 * change, accounts_keep_* notes the lines of the account files, so that accounts_restore_* can
 * restore exactly those and nothing else.
 *
 * All states that change accounts share the lock ACCOUNTS_LOCK.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_USER_ACCOUNTS_H
#define STATES_MODULES_USER_ACCOUNTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/data/params.h"

struct account;
struct account_group;
struct err;
struct state_run;

#define ACCOUNTS_LOCK "accounts"
/* For each account file. */
#define ACCOUNTS_FILE_MAX ((size_t)64 << 20)

/* Not set, in an ageing field. */
#define ACCOUNTS_UNSET (-1)

struct accounts_user {
    const struct account *account;                     /* NULL: none */
    const char *hash;                                  /* password hash; NULL: not readable */
    int64_t changed, min, max, warn, inactive, expire; /* days */
};

/* Account names (first fields) of an account file. */
int accounts_list(struct state_run *run, const char *path, struct value *ret, struct err *err);

int accounts_find_user(struct state_run *run, const char *name, struct accounts_user *ret,
                       struct err *err);
/* Names of its supplementary groups. A separate function, since sources other than the files
 * are slow. */
int accounts_find_groups(struct state_run *run, const struct account *account,
                         struct param_strs *ret, struct err *err);
/* NULL when there is none. */
int accounts_find_group(struct state_run *run, const char *name, const struct account_group **ret,
                        struct err *err);
/* The ID of a group, without its members, of which there may be many. */
int accounts_find_gid(struct state_run *run, const char *name, gid_t *ret_gid, bool *ret_found,
                      struct err *err);

/* For a check: reports when the ID wanted for `name` belongs to another account. */
int accounts_foresee_uid(struct state_run *run, int64_t uid, const char *name, struct err *err);
int accounts_foresee_gid(struct state_run *run, int64_t gid, const char *name, struct err *err);

/* For a check: reports a local account whose login group it is, since such a group cannot be
 * removed. */
int accounts_foresee_login_group(struct state_run *run, const struct account_group *group,
                                 struct err *err);

bool accounts_has(struct param_strs names, const char *name);
/* The same names, in any order. */
bool accounts_same(struct param_strs a, struct param_strs b);
/* "a,b,c", in the arena. */
const char *accounts_join(struct state_run *run, struct param_strs names);

/* Remove a file or folder of a deleted account. What another user owns stays: the home of an
 * account may be a system folder. */
int accounts_remove_own(struct state_run *run, const char *path, uid_t uid, struct err *err);
/* Where its mail is. */
const char *accounts_mailbox(struct state_run *run, const char *name);
/* Remove the account, but not its files. `hint`: what to do when the user is logged in. */
int accounts_delete_user(struct state_run *run, const char *name, bool force, const char *hint,
                         struct err *err);

/* Note all lines of a user or group in the account files, before a change. */
int accounts_keep_user(struct state_run *run, const char *name, struct err *err);
int accounts_keep_group(struct state_run *run, const char *name, struct err *err);
/* Did it exist when it was noted? */
bool accounts_was_there(const struct state_run *run);
/* The IDs of the noted user and of its login group; false: none. */
bool accounts_kept_ids(const struct state_run *run, int64_t *ret_uid, int64_t *ret_gid);
/* The ID of the noted group; false: there was none. */
bool accounts_kept_gid(const struct state_run *run, int64_t *ret_gid);
/* Restore the noted lines; `ret_changed`: whether they differed. */
int accounts_restore_user(struct state_run *run, const char *name, bool *ret_changed,
                          struct err *err);
int accounts_restore_group(struct state_run *run, const char *name, bool *ret_changed,
                           struct err *err);
/* The check of a state that deletes a `noun`. */
void accounts_check_absent(struct state_run *run, const char *noun, const char *name, bool exists);
/* The revert of a state that deleted a `noun`: restore it with one of these. */
typedef int accounts_restore_fn(struct state_run *run, const char *name, bool *ret_changed,
                                struct err *err);
int accounts_bring_back(struct state_run *run, const char *noun, const char *name,
                        accounts_restore_fn *restore, struct err *err);

#endif
