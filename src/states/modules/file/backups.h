/*
 * backups - what files were before earlier runs changed them: the images of the undo journal.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_FILE_BACKUPS_H
#define STATES_MODULES_FILE_BACKUPS_H

#include <stdint.h>

#include "core/data/params.h"

struct err;
struct state_run;
struct value;

struct backups_args {
    const char *path;
    int64_t limit;
};

extern const struct param backups_params[];

/* Lists those of one file, the newest first: { 0: { Backup Time, Size, Location }, ... } */
int backups_of_file(struct state_run *run, const void *args, struct value *ret, struct err *err);
/* Lists those of all files in a folder, by file name. */
int backups_of_folder(struct state_run *run, const void *args, struct value *ret, struct err *err);

#endif
