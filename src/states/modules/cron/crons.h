/*
 * crons - the crontab of a user, read and written through the crontab program.
 *
 * All states that change crontabs share the lock CRONS_LOCK, since each reads, edits and writes the
 * whole file.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_CRON_CRONS_H
#define STATES_MODULES_CRON_CRONS_H

#include "core/base/str.h"

struct diags;
struct err;
struct state_run;
struct value;

#define CRONS_LOCK "crontab"
/* A larger crontab is an error. */
#define CRONS_TEXT_MAX ((size_t)16 << 20)

/* NULL unless one is given: `false` is Salt's default, and means that the name is the identifier.
 */
const char *crons_identifier(const char *text);

/* Empty when the user has none. A user who does not exist is an error; in a dry run, where an
 * earlier state may create the account, it is only reported. */
int crons_read(struct state_run *run, const char *user, struct str *ret, struct err *err);
/* The same for removals: a user who does not exist has an empty crontab. */
int crons_read_gone(struct state_run *run, const char *user, struct str *ret, struct err *err);
/* An empty text removes it. */
int crons_write(struct state_run *run, const char *user, struct str text, struct err *err);

/* Write a whole crontab, and note it before and after; and restore it, or fail with ERR_BUSY
 * when it has been changed since. */
int crons_replace(struct state_run *run, const char *user, struct str before, struct str after,
                  struct err *err);
int crons_revert_whole(struct state_run *run, const char *user, const char *done, struct err *err);

/* Restore what was noted as "before" (lines of the block with this label; empty: none). */
int crons_revert(struct state_run *run, const char *user, const char *label, struct err *err);

/* --- variables ------------------------------------------------------------------------ */

/* A variable of a crontab: set to this value, or absent. The arguments of the functions below,
 * which are those of a module. */
struct crons_variable {
    const char *name, *user;
    const char *value; /* NULL: must not be set */
};
int crons_validate_variable(const void *args, const struct value *where, struct diags *diags);
int crons_check_variable(struct state_run *run, const void *args, struct err *err);
int crons_apply_variable(struct state_run *run, const void *args, struct err *err);
int crons_revert_variable(struct state_run *run, const void *args, struct err *err);

#endif
