/*
 * crons - the crontab of a user, read and written by the crontab program.
 *
 * All states that change crontabs share the lock CRONS_LOCK, since reading and writing
 * belong together.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef MODULES_CRON_CRONS_H
#define MODULES_CRON_CRONS_H

#include "base/str.h"

struct diags;
struct err;
struct state_run;
struct value;

#define CRONS_LOCK "crontab"
/* A larger crontab is an error. */
#define CRONS_TEXT_MAX ((size_t)16 << 20)

/* Empty when the user has none. A user who does not exist is an error; in a dry run, where a state
 * before this one may make the account, it is only told. */
int crons_read(struct state_run *run, const char *user, struct str *ret, struct err *err);
/* The same for those who want something not to be there: nobody has nothing. */
int crons_read_gone(struct state_run *run, const char *user, struct str *ret, struct err *err);
/* An empty text: the user has none. */
int crons_write(struct state_run *run, const char *user, struct str text, struct err *err);

/* Write a whole crontab, and note how it was and how it was left; back to how it was, unless
 * somebody has changed it since: that is ERR_BUSY. */
int crons_replace(struct state_run *run, const char *user, struct str before, struct str after,
                  struct err *err);
int crons_revert_whole(struct state_run *run, const char *user, const char *done, struct err *err);

/* Put back what was noted as "before" (lines of the block with this label, empty: none). */
int crons_revert(struct state_run *run, const char *user, const char *label, struct err *err);

/* --- variables ------------------------------------------------------------------------ */

/* A variable of a crontab: with this value, or not there at all. These are the arguments of the
 * functions below, which are those of a module. */
struct crons_variable {
    const char *name, *user;
    const char *value; /* NULL: it is not to be set */
};
int crons_validate_variable(const void *args, const struct value *where, struct diags *diags);
int crons_check_variable(struct state_run *run, const void *args, struct err *err);
int crons_apply_variable(struct state_run *run, const void *args, struct err *err);
int crons_revert_variable(struct state_run *run, const void *args, struct err *err);

#endif
