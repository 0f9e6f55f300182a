/*
 * log_cursor - iterates over the lines of one block that match a filter.
 *
 *     log_cursor_begin -> { log_cursor_next }...
 *
 * Memory: names of sources in a table that is used again for each block; lines are
 * views of the block. Threads: one at a time.
 */
#ifndef KEPLER_LOGS_LOG_CURSOR_H
#define KEPLER_LOGS_LOG_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "kepler/logs/log_line.h"
#include "kepler/logs/segment.h"

struct cleared;
struct log_filter;

struct log_cursor_source {
    struct segment_source source;
    bool wanted;
    uint64_t cleared; /* lines up to this number are gone */
};

/* Zero has no lines. */
struct log_cursor {
    const struct log_filter *filter;
    const struct cleared *cleared;
    VEC(struct log_cursor_source) sources;
    struct str entries;         /* not yet looked at */
    struct segment_entry entry; /* whose lines are being handed out */
    const struct log_cursor_source *source;
    struct str text; /* its lines to come; p is NULL: none */
    uint64_t seq;    /* of the next of them */
};

/* Look at the entries of another block. Both must stay until the next call of it. */
void log_cursor_begin(struct log_cursor *cursor, const struct log_filter *filter,
                      const struct cleared *cleared, struct str entries);
void log_cursor_done(struct log_cursor *cursor);

/* The next line that is wanted and has a number above `after`. False at the end. */
bool log_cursor_next(struct log_cursor *cursor, uint64_t after, struct log_line *ret_line);
/* How many are left, all of them above `after`; the cursor is at its end then. */
uint64_t log_cursor_count(struct log_cursor *cursor, uint64_t after);

#endif
