/*
 * record_log - a file whose last entry counts, for data written often and read rarely.
 *
 * An entry is a few records, framed and checksummed; a reader finds all of them or none. Appending
 * is ten times cheaper than replacing the file. Above RECORD_LOG_ROOM bytes the file is replaced by
 * one with only the newest entry. Half-written and damaged entries are skipped. Not synced: the
 * last entry may be lost when the machine stops.
 *
 *     record_log_open -> record_log_add -> record_log_close      one writer at a time, others wait
 *     record_log_read_first, record_log_read_part                readers need not wait
 *
 * A file with the bare records of one entry is read, too (core/runs/record_file.h).
 *
 * Memory: the arena. Threads: any.
 */
#ifndef CORE_RUNS_RECORD_LOG_H
#define CORE_RUNS_RECORD_LOG_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;
struct record_type;

#define RECORD_LOG_ROOM ((size_t)64 << 10)

struct record_log {
    const char *path;
    const char *purpose; /* names its format: "last runs" */
    uint16_t version;    /* version of the tables of its records */
    size_t max;          /* bytes of an entry */
};

/* One of the records of an entry. */
struct record_part {
    const struct record_type *type;
    const void *record;
};

struct record_log_writer {
    const struct record_log *log;
    int fd;
    uint64_t salt;
    size_t size; /* 0: nothing to append to */
};

/* Fails with ERR_NOT_FOUND when the folder does not exist. */
int record_log_open(struct record_log_writer *writer, const struct record_log *log,
                    struct err *err);
/* The writer's last step. Fails with ERR_LIMIT when the entry is too large; then another one may be
 * added. */
int record_log_add(struct record_log_writer *writer, const struct record_part *parts, size_t count,
                   struct err *err);
void record_log_close(struct record_log_writer *writer);

/* The first record of the last entry, of at most `max` bytes; of a large file not more is read.
 * Fails with ERR_NOT_FOUND when there is no file. */
int record_log_read_first(struct arena *arena, const struct record_log *log,
                          const struct record_type *type, size_t max, void *ret, struct err *err);
/* The record after `before` others. Fails with ERR_NOT_FOUND when there are not that many. */
int record_log_read_part(struct arena *arena, const struct record_log *log,
                         const struct record_type *type, size_t before, void *ret, struct err *err);

#endif
