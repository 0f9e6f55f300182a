/*
 * log_retention - keeps a folder of segments within its limits.
 *
 * Segments go whole, the oldest first: those whose last line is older than the age
 * limit, and as many as the size limit asks for. Lines that were cleared leave in a
 * sweep: a segment of cleared lines only is removed, one that is half cleared is
 * written anew and renamed over the old one, which readers that have it open still
 * see. A sweep goes block by block and can rest after each.
 *
 * The segment that is being written is never touched.
 *
 * Memory: one block. Threads: that of the store.
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
    uint64_t max_size, reserve; /* of it, room for the segment that is being written */
    int64_t max_age;            /* nanoseconds; 0: none */
    mode_t mode;
    int64_t expires; /* wall time when the oldest segment is too old; CLOCK_NEVER: no such thing */

    bool sweeping;
    uint64_t next;            /* segments from this number on are still to be swept */
    struct segment_file file; /* the one being swept */
    uint64_t offset, live, dead;
    bool damaged; /* the segment; it is not rewritten, since its damage would no longer be
                   * reported */
    int out;      /* its new form; -1: it is only being counted */
    struct segment_header header;
    struct segment_index index;
    unsigned char *block;
};

void log_retention_init(struct log_retention *retention, int folder, const struct cleared *cleared,
                        uint64_t max_size, int64_t max_age, mode_t mode);
void log_retention_done(struct log_retention *retention);

/* Remove what is beyond the limits of age and size. Segments from `active` on stay. */
int log_retention_limit(struct log_retention *retention, uint64_t active, struct err *err);
/* The number of the first line that may still be there. */
int log_retention_oldest(const struct log_retention *retention, uint64_t *ret_oldest,
                         struct err *err);

/* Begin a sweep, anew when there is one. */
void log_retention_sweep(struct log_retention *retention);
/* Go on with it until `deadline` of clock_real. `ret_more`: it is not done. */
int log_retention_step(struct log_retention *retention, uint64_t active, int64_t deadline,
                       bool *ret_more, struct err *err);

#endif
