/*
 * attrs - mode, user and group of a path, from parameters.
 *
 * A mode is an octal text ("0644"), a number as YAML reads 0644 or 644, or, where that makes sense,
 * the word 'keep'. Users and groups are names or numbers. What is not given stays as it is.
 *
 *     attrs_validate (when the state is read) -> attrs_read -> attrs_check
 *
 * Account names are cached per thread until the account files change, since a run with a thousand
 * files looks up a thousand names.
 *
 * Memory: texts are borrowed from the parameters. Threads: any.
 */
#ifndef STATES_MODULES_FILE_ATTRS_H
#define STATES_MODULES_FILE_ATTRS_H

#include <stdbool.h>
#include <sys/types.h>

#include "states/undo/change.h"

struct diags;
struct err;
struct fs_info;
struct site;
struct state_run;
struct value;

struct attrs {
    struct change_attr want;
    const char *user, *group; /* as given; NULL: not given */
    bool keep_mode;           /* the mode of the source */
};

/* Is it a valid mode? `keep`: accept 'keep'. A NULL mode is valid. */
int attrs_validate(const struct value *mode, bool keep, struct diags *diags);

/* Resolve the parameters; each may be NULL. Fails for unknown accounts; in a dry run an earlier
 * state may create them, so there the state differs and the owner is left alone.
 */
int attrs_read(struct state_run *run, const struct value *mode, const char *user, const char *group,
               struct attrs *ret, struct err *err);

/* The ID of a user or group, with the same rules. */
int attrs_find_user(struct state_run *run, const char *name, uid_t *ret, struct err *err);
int attrs_find_group(struct state_run *run, const char *name, gid_t *ret, struct err *err);

/* Does the path differ? */
bool attrs_differ(const struct attrs *attrs, const struct fs_info *info);
/* The same, with a message for each difference. */
void attrs_check(struct state_run *run, const char *path, const struct attrs *attrs,
                 const struct fs_info *info);
/* Set what differs at a site. A change of owner without a given mode drops the set-id bits,
 * since they were granted for the old owner. */
int attrs_apply(struct state_run *run, struct site *site, const struct attrs *attrs,
                struct err *err);

/* Parameters that Salt supports on Windows only. */
/* clang-format off */
#define ATTRS_WINDOWS                              \
    PARAM_IDLE("win_owner", "Windows only"),       \
    PARAM_IDLE("win_perms", "Windows only"),       \
    PARAM_IDLE("win_deny_perms", "Windows only"),  \
    PARAM_IDLE("win_inheritance", "Windows only"), \
    PARAM_IDLE("win_perms_reset", "Windows only")
/* clang-format on */

#endif
