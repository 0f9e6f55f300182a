/*
 * log_cursor - iterates over the lines of one block that match a filter.
 *
 *     log_cursor_begin -> { log_cursor_next }...
 *
 * Memory: a table of source names, reused for each block; lines are views of the block. Threads:
 * one at a time.
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
    uint64_t cleared; /* lines up to this number are cleared */
};

/* Zero has no lines. */
struct log_cursor {
    const struct log_filter *filter;
    const struct cleared *cleared;
    VEC(struct log_cursor_source) sources;
    struct str entries;         /* entries not visited yet */
    struct segment_entry entry; /* the current entry */
    const struct log_cursor_source *source;
    struct str text; /* its remaining lines; p is NULL: none */
    uint64_t seq;    /* number of the next line */
};

/* Moves to the entries of another block. Both must stay valid until the next such call. */
void log_cursor_begin(struct log_cursor *cursor, const struct log_filter *filter,
                      const struct cleared *cleared, struct str entries);
void log_cursor_done(struct log_cursor *cursor);

/* The next matching line with a number above `after`. False at the end. */
bool log_cursor_next(struct log_cursor *cursor, uint64_t after, struct log_line *ret_line);
/* Counts the remaining lines above `after`; leaves the cursor at its end. */
uint64_t log_cursor_count(struct log_cursor *cursor, uint64_t after);

#endif
