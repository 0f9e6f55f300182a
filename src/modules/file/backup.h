/*
 * backup - a copy of a file beside it, before it changes.
 *
 * The undo journal keeps every before-image anyway, and is what Salt's 'minion' asks
 * for; this is for those who want to see the old file where it was. `backup: true`
 * makes a copy with '.bak' behind its name, a word that begins with a dot is used instead.
 */
#ifndef MODULES_FILE_BACKUP_H
#define MODULES_FILE_BACKUP_H

struct diags;
struct err;
struct state_run;
struct value;

/* The words of the parameter, for tables. */
#define BACKUP_DOC "keep the old file beside the new one: true ('.bak') or a suffix such as '.orig'"

int backup_validate(const struct value *backup, struct diags *diags);
/* Copy `path` as the parameter says; NULL: not at all. A file that is not there needs no copy. */
int backup_make(struct state_run *run, const char *path, const struct value *backup,
                struct err *err);

#endif
