/*
 * restore_files - the files of an archive compared with those of this machine, and written.
 *
 *     restore_files_begin -> { restore_files_compare: every item } -> restore_files_look
 *                         -> { restore_files_write: every item } -> restore_files_done
 *
 * A file with the same content stays. Another one is a conflict, and so is a file in a folder of
 * the archive that the archive does not have: a restore changes neither without --force, and
 * removes nothing. Each file is replaced in one step, so a repeated restore finds whole files.
 *
 * Memory: the arena, for the names. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_BACKUP_RESTORE_FILES_H
#define COMMANDS_CLI_FLEET_BACKUP_RESTORE_FILES_H

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/sys/draft.h"
#include "fleet/backup/archive.h"

struct arena;
struct err;

struct restore_conflict {
    const char *path, *why;
};

struct restore_files {
    struct arena *arena;
    struct map states;       /* by path: &restore_same, or &restore_new */
    VEC(const char *) roots; /* folders of the archive that are in no other */
    VEC(struct restore_conflict) conflicts;
    int64_t written, kept;
    /* for restore_files.c */
    int fd;         /* the file that is compared; -1: none */
    bool is_same;   /* so far */
    bool has_draft; /* a file is being written */
    struct draft draft;
};

void restore_files_begin(struct restore_files *files, struct arena *arena);
int restore_files_compare(struct restore_files *files, const struct archive_item *item,
                          struct err *err);
/* Find files that the archive does not have. */
int restore_files_look(struct restore_files *files, struct err *err);
int restore_files_write(struct restore_files *files, const struct archive_item *item,
                        struct err *err);
void restore_files_done(struct restore_files *files);

#endif
