/*
 * log_retention - keeps a folder of segments within its limits.
 *
 * Whole segments are removed, the oldest first: those whose last line exceeds the age limit, and
 * as many as the size limit requires. Cleared lines are removed by a sweep: a fully cleared
 * segment is deleted, a half cleared one is rewritten and renamed over the old one, which readers
 * that have it open still see. A sweep proceeds block by block and can pause after each.
 *
 * The active segment is never touched.
 *
 * Memory: one block. Threads: the store's.
 */
#ifndef KEPLER_LOGS_LOG_RETENTION_H
#define KEPLER_LOGS_LOG_RETENTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kepler/logs/segment_file.h"

struct cleared;
struct err;

struct log_retention {
    int folder; /* borrowed, like `cleared` */
    const struct cleared *cleared;
    uint64_t max_size, reserve; /* part of it reserved for the active segment */
    int64_t max_age;            /* nanoseconds; 0: none */
    mode_t mode;
    int64_t expires; /* wall time when the oldest segment expires; CLOCK_NEVER: never */

    bool sweeping;
    uint64_t next;            /* segments from this number on are not swept yet */
    struct segment_file file; /* the segment being swept */
    uint64_t offset, live, dead;
    bool damaged; /* damaged segment; not rewritten, or its damage would no longer be reported */
    int out;      /* its replacement; -1: counting only */
    struct segment_header header;
    struct segment_index index;
    unsigned char *block;
};

void log_retention_init(struct log_retention *retention, int folder, const struct cleared *cleared,
                        uint64_t max_size, int64_t max_age, mode_t mode);
void log_retention_done(struct log_retention *retention);

/* Removes segments beyond the limits of age and size, except those from `active` on. */
int log_retention_limit(struct log_retention *retention, uint64_t active, struct err *err);
/* The lowest line number that may still exist. */
int log_retention_oldest(const struct log_retention *retention, uint64_t *ret_oldest,
                         struct err *err);

/* Begins a sweep, or restarts the current one. */
void log_retention_sweep(struct log_retention *retention);
/* Continues it until `deadline` of clock_real. `ret_more`: it is not done. */
int log_retention_step(struct log_retention *retention, uint64_t active, int64_t deadline,
                       bool *ret_more, struct err *err);

#endif
