/*
 * cleared - tracks cleared lines: for each service, all lines up to a number.
 *
 * Clearing a service appends one record to the file "cleared" of the store; the lines stay on disk
 * until reclaiming them is worthwhile. Readers hide them.
 *
 * The file holds records in frames (core/data/frame.h), after a salt. The last record of a service
 * counts; damage costs only the affected records, and a torn one at the end is ignored. A record
 * without a name belongs to no service: it prevents numbers from being reused. A file in the
 * previous format, without frames, is read, and rewritten by the next change.
 *
 * Memory: the heap, until cleared_done. Threads: one at a time for each struct; only one process
 * writes.
 */
#ifndef KEPLER_LOGS_CLEARED_H
#define KEPLER_LOGS_CLEARED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/arena.h"
#include "core/base/map.h"

struct err;

/* Maximum bytes of the file; it is rewritten long before. */
#define CLEARED_FILE_MAX ((size_t)16 << 20)

/* Zero: nothing was cleared. */
struct cleared {
    struct arena arena;
    struct map seqs;
    uint64_t size;  /* valid bytes of the file; 0: it is missing or empty */
    size_t records; /* records in them */
    uint64_t salt;
    bool old; /* the file is in the previous format */
};

/* Replaces the contents with those of the file. No file: nothing was cleared. */
int cleared_load(struct cleared *cleared, int folder, struct err *err);
void cleared_done(struct cleared *cleared);
/* For the writer, after loading: truncates invalid data, so that records may follow. */
int cleared_mend(const struct cleared *cleared, int folder, struct err *err);

/* The number of the last cleared line of `service`; 0: none. */
uint64_t cleared_find(const struct cleared *cleared, const char *service);
/* The highest of all numbers. */
uint64_t cleared_highest(const struct cleared *cleared);

/* Clears the lines of `service` up to `seq`. */
int cleared_add(struct cleared *cleared, int folder, const char *service, uint64_t seq, mode_t mode,
                struct err *err);
/* Rewrites the file without entries that only concern lines before `oldest`. */
int cleared_rewrite(struct cleared *cleared, int folder, uint64_t oldest, mode_t mode,
                    struct err *err);

#endif
