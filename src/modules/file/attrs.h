/*
 * attrs - mode, user and group of a path, as parameters say them.
 *
 * A mode is an octal text ("0644"), a number as YAML reads 0644 or 644, or, where that
 * makes sense, the word 'keep'. Users and groups are names or numbers. What is
 * not said stays as it is.
 *
 *     attrs_validate (when the state is read) -> attrs_read -> attrs_check
 *
 * Names of accounts are looked up once for each thread, and again when the account
 * files have changed, since a run of a thousand files asks a thousand times.
 *
 * Memory: texts are borrowed from the parameters. Threads: any.
 */
#ifndef MODULES_FILE_ATTRS_H
#define MODULES_FILE_ATTRS_H

#include <stdbool.h>
#include <sys/types.h>

#include "undo/change.h"

struct diags;
struct err;
struct fs_info;
struct site;
struct state_run;
struct value;

struct attrs {
    struct change_attr want;
    const char *user, *group; /* as they were said; NULL: not at all */
    bool keep_mode;           /* the mode of the source */
};

/* Is the mode one? `keep` says whether 'keep' is. A NULL mode is fine. */
int attrs_validate(const struct value *mode, bool keep, struct diags *diags);

/* What the parameters mean; each may be NULL. Fails for accounts that are not there; in a dry run
 * they may be made by a state before this one, so there the state differs, and the owner is left.
 */
int attrs_read(struct state_run *run, const struct value *mode, const char *user, const char *group,
               struct attrs *ret, struct err *err);

/* The number of a user or group, alike. */
int attrs_find_user(struct state_run *run, const char *name, uid_t *ret, struct err *err);
int attrs_find_group(struct state_run *run, const char *name, gid_t *ret, struct err *err);

/* Does what is there differ? */
bool attrs_differ(const struct attrs *attrs, const struct fs_info *info);
/* The same, told in a sentence for each difference. */
void attrs_check(struct state_run *run, const char *path, const struct attrs *attrs,
                 const struct fs_info *info);
/* Set what differs from what was found at a site. Set-id bits speak for an owner: who gets a file
 * without being given a mode for it does not get those. */
int attrs_apply(struct state_run *run, struct site *site, const struct attrs *attrs,
                struct err *err);

/* What Salt manages on Windows. */
/* clang-format off */
#define ATTRS_WINDOWS                              \
    PARAM_IDLE("win_owner", "Windows only"),       \
    PARAM_IDLE("win_perms", "Windows only"),       \
    PARAM_IDLE("win_deny_perms", "Windows only"),  \
    PARAM_IDLE("win_inheritance", "Windows only"), \
    PARAM_IDLE("win_perms_reset", "Windows only")
/* clang-format on */

#endif
