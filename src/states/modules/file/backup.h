/*
 * backup - a copy of a file beside it, before it changes.
 *
 * The undo journal keeps every before-image anyway, which covers Salt's 'minion'; this is for users
 * who want the old file next to the new one. `backup: true` appends '.bak' to the name; a value
 * that begins with a dot is the suffix.
 */
#ifndef STATES_MODULES_FILE_BACKUP_H
#define STATES_MODULES_FILE_BACKUP_H

struct diags;
struct err;
struct state_run;
struct value;

/* Help text of the parameter, for tables. */
#define BACKUP_DOC                                                                                 \
    "keep the old file next to the new one: true ('.bak') or a suffix such as '.orig'"

int backup_validate(const struct value *backup, struct diags *diags);
/* Copy `path` as the parameter says; NULL: do nothing. A missing file needs no copy. */
int backup_make(struct state_run *run, const char *path, const struct value *backup,
                struct err *err);

#endif
