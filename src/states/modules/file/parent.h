/*
 * parent - the folder above a path: check it, or create it.
 *
 * An earlier state of the run may create a missing parent, so check reports it as a difference;
 * only apply fails.
 */
#ifndef STATES_MODULES_FILE_PARENT_H
#define STATES_MODULES_FILE_PARENT_H

#include <stdbool.h>

#include "states/undo/change.h"

struct err;
struct state_run;

/* Report what is wrong with the parent of `path`, if anything. */
int parent_check(struct state_run *run, const char *path, bool makedirs, struct err *err);

/* The attributes of new parent folders of what gets `attr`, as in Salt: its owner, and its mode
 * with execution wherever it can be read. Without a mode: 0755. */
struct change_attr parent_attr(const struct change_attr *attr);

/* Create the parent folders that are missing, with `attr`, which may be NULL: 0755.
 */
int parent_make(struct state_run *run, const char *path, bool makedirs,
                const struct change_attr *attr, struct err *err);

/* The same for a file that is written through links: the folder that matters is the one where
 * the last link ends. */
int parent_check_file(struct state_run *run, const char *path, bool makedirs, struct err *err);
int parent_make_file(struct state_run *run, const char *path, bool makedirs,
                     const struct change_attr *attr, struct err *err);

#endif
