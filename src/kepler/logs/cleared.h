/*
 * cleared - which lines of a service are gone: all up to a number.
 *
 * To clear a service is to append one record to the file "cleared" of the store; the
 * lines stay where they are until the room is worth taking back. Readers hide them.
 *
 * The file holds records in frames (core/data/frame.h), after a salt. The last record of a service
 * counts; damage costs the records it hits, and a torn one at the end was never written. A record
 * without a name speaks of no service: it keeps numbers from being used again. A file of the
 * format before, which had no frames, is read, and written anew by the next change.
 *
 * Memory: the heap, until cleared_done. Threads: one at a time for each struct;
 * one process writes.
 */
#ifndef KEPLER_LOGS_CLEARED_H
#define KEPLER_LOGS_CLEARED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/arena.h"
#include "core/base/map.h"

struct err;

/* Bytes of the file; it is rewritten long before. */
#define CLEARED_FILE_MAX ((size_t)16 << 20)

/* Zero is: nothing was cleared. */
struct cleared {
    struct arena arena;
    struct map seqs;
    uint64_t size;  /* bytes of the file that make sense; 0: there is no file, or it is empty */
    size_t records; /* in them */
    uint64_t salt;
    bool old; /* the file has the format before */
};

/* What the file says now, in place of what was there. No file: nothing was cleared. */
int cleared_load(struct cleared *cleared, int folder, struct err *err);
void cleared_done(struct cleared *cleared);
/* For the writer, after loading: cut off what makes no sense, so that records may follow.
 */
int cleared_mend(const struct cleared *cleared, int folder, struct err *err);

/* The number of the last line of `service` that is gone; 0: none. */
uint64_t cleared_find(const struct cleared *cleared, const char *service);
/* The highest of all numbers. */
uint64_t cleared_highest(const struct cleared *cleared);

/* From now on the lines of `service` up to `seq` are gone. */
int cleared_add(struct cleared *cleared, int folder, const char *service, uint64_t seq, mode_t mode,
                struct err *err);
/* Write the file anew, without what speaks only of lines before `oldest`. */
int cleared_rewrite(struct cleared *cleared, int folder, uint64_t oldest, mode_t mode,
                    struct err *err);

#endif
