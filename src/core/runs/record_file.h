/*
 * record_file - one record in a file of its own, framed and checksummed, replaced whole.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef CORE_RUNS_RECORD_FILE_H
#define CORE_RUNS_RECORD_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "core/sys/fs.h"

struct arena;
struct err;
struct frame;
struct record_type;

struct record_file {
    const char *path;
    const struct record_type *type;
    uint16_t version;  /* version of the table */
    size_t max;        /* bytes */
    enum fs_sync sync; /* sync of a write */
};

/* Fails with ERR_LIMIT when the record is too large. With FS_SYNC, a file with the same content is
 * left alone. */
int record_file_write(const struct record_file *file, const void *record, struct err *err);
/* Fails with ERR_NOT_FOUND when there is no file. */
int record_file_read(struct arena *arena, const struct record_file *file, void *ret,
                     struct err *err);
/* The same in two steps: an intact file, and the record in it. */
int record_file_open(struct arena *arena, const struct record_file *file, struct frame *ret,
                     struct err *err);
int record_file_decode(struct arena *arena, const struct record_file *file,
                       const struct frame *frame, void *ret, struct err *err);

#endif
