/*
 * backup_file - the file of an archive: written beside its name and renamed when it is complete and
 * on disk, and read from its beginning.
 *
 *     backup_file_create -> { writer } -> backup_file_commit -> backup_file_done
 *     backup_file_open -> { reader } -> backup_file_done
 *
 * Memory: backup_file_done frees. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_BACKUP_BACKUP_FILE_H
#define COMMANDS_CLI_FLEET_BACKUP_BACKUP_FILE_H

#include "commands/cli/fleet/backup/backup_key.h"
#include "fleet/backup/archive.h"

/* Suffix of an unfinished archive; the next backup of that name overwrites it. */
#define BACKUP_FILE_PART ".part"

struct arena;

struct backup_file {
    const char *path, *part; /* `part`: NULL when reading */
    int fd;
    uint64_t size;
    unsigned char key[SECRET_STREAM_KEY_SIZE];
    struct archive_head head;
    struct archive_writer writer;
    struct archive_reader reader;
};

/* Replaces nothing but a backup. Fails with ERR_BUSY while another process writes a backup of that
 * name. */
int backup_file_create(struct arena *arena, const char *path, struct backup_file *ret,
                       struct err *err);
int backup_file_commit(struct backup_file *file, struct err *err);

/* Opens it, and asks for its key. */
int backup_file_open(const char *path, const struct backup_key_options *options,
                     struct backup_file *ret, struct err *err);
/* Reads from the beginning again, with the same key. */
int backup_file_rewind(struct backup_file *file, struct err *err);
/* The next item; an error names the file. */
int backup_file_next(struct backup_file *file, struct archive_item *ret_item, struct err *err);

/* An uncommitted archive is removed. */
void backup_file_done(struct backup_file *file);

#endif
