/*
 * user_wish - the wanted account of user.present: compared with the current one, and as arguments
 * for useradd and usermod.
 *
 *     user_wish_validate (when the state is read)
 *     user_wish_words_new                           for a new account
 *     user_wish_compare -> user_wish_words_change   for an existing one
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_USER_USER_WISH_H
#define STATES_MODULES_USER_USER_WISH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/data/params.h"

struct accounts_user;
struct diags;
struct err;
struct state_run;
struct tool_words;
struct value;

/* Full name, room, two phone numbers, other. */
#define USER_WISH_GECOS 5

enum user_wish_age {
    USER_WISH_CHANGED,
    USER_WISH_MIN,
    USER_WISH_MAX,
    USER_WISH_WARN,
    USER_WISH_INACTIVE,
    USER_WISH_EXPIRE,
};
#define USER_WISH_AGES (USER_WISH_EXPIRE + 1)

/* The parameters. */
struct user_wish {
    const char *name;
    int64_t uid;
    bool has_uid;
    const char *gid, *primary_group;
    enum param_tristate usergroup;
    bool gid_from_name;
    struct param_strs groups, optional_groups;
    bool has_groups;
    enum param_tristate remove_groups;
    const char *home, *shell;
    bool createhome;
    const char *gecos[USER_WISH_GECOS];
    bool has_gecos[USER_WISH_GECOS];
    const char *password;
    bool empty_password, hash_password, enforce_password, system, unique, nologinit;
    enum param_tristate password_lock, allow_uid_change, allow_gid_change;
    const char *age[USER_WISH_AGES];
};

/* The differences. */
struct user_diff {
    bool any, uid, gid, home, shell, gecos, password, groups;
    bool lock;     /* lock the password, and keep it otherwise */
    bool homeless; /* the home folder is wanted and missing */
    bool age[USER_WISH_AGES];
    int64_t age_want[USER_WISH_AGES];
    const char *group;            /* login group as usermod takes it; NULL: none wanted */
    struct param_strs group_list; /* all other groups it should be in */
    const char *refused;          /* a difference that must not be changed; NULL */
};

int user_wish_validate(const struct user_wish *wish, const struct value *where,
                       struct diags *diags);

/* For a dry run: reports groups that do not exist yet. user_wish_compare reports the login
 * group of an existing account. */
int user_wish_foresee(struct state_run *run, const struct user_wish *wish, bool fresh,
                      struct err *err);

/* Reports each difference as a message of check. */
int user_wish_compare(struct state_run *run, const struct user_wish *wish,
                      const struct accounts_user *now, struct user_diff *ret_diff, struct err *err);

/* Options, without the account name. Fails when a wanted group does not exist. */
int user_wish_words_new(struct state_run *run, const struct user_wish *wish,
                        struct tool_words *words, struct err *err);
int user_wish_words_change(struct state_run *run, const struct user_wish *wish,
                           const struct accounts_user *now, const struct user_diff *diff,
                           struct tool_words *words, struct err *err);

#endif
