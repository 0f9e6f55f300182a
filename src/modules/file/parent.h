/*
 * parent - the folder above a path: there, missing, or to be made.
 *
 * A parent that is missing may still be made by an earlier state of the run, so
 * a check tells it as a difference; only apply fails.
 */
#ifndef MODULES_FILE_PARENT_H
#define MODULES_FILE_PARENT_H

#include <stdbool.h>

struct change_attr;
struct err;
struct state_run;

/* Say what is wrong with the parent of `path`, if anything is. */
int parent_check(struct state_run *run, const char *path, bool makedirs, struct err *err);

/* The parent is there afterwards. Those that have to be made get `attr`, which may be NULL: 0755.
 */
int parent_make(struct state_run *run, const char *path, bool makedirs,
                const struct change_attr *attr, struct err *err);

/* The same for a file that is written through links: what matters is the folder in which the last
 * of them ends. */
int parent_check_file(struct state_run *run, const char *path, bool makedirs, struct err *err);
int parent_make_file(struct state_run *run, const char *path, bool makedirs,
                     const struct change_attr *attr, struct err *err);

#endif
