/*
 * log_reader - reads stored lines in order, from a folder of segments.
 *
 *     log_reader_open -> [log_reader_tail] -> { log_reader_next }... -> log_reader_free
 *
 * The end may be temporary: after more lines were written, log_reader_next continues. Followers
 * are notified by log_store_on_data.
 *
 * Any process may write to, clean and delete from the folder meanwhile. Damage costs the lines of
 * its block, and is reported by a line in their place: of service "kepler", with `lost`, the
 * number of lines, the file and the offset. For the first N lines, stop after N.
 *
 * Memory: one window of a file. A line is valid until the next call.
 * Threads: one at a time for each reader.
 */
#ifndef KEPLER_LOGS_LOG_READER_H
#define KEPLER_LOGS_LOG_READER_H

#include <stdint.h>

#include "kepler/logs/log_filter.h"
#include "kepler/logs/log_line.h"

struct err;
struct log_reader;

/* The filter is copied, its pointers are borrowed; NULL matches all. A missing folder has no lines,
 * and cannot be followed. */
int log_reader_open(const char *folder, const struct log_filter *filter,
                    struct log_reader **ret_reader, struct err *err);
/* NULL is fine. */
void log_reader_free(struct log_reader *reader);

/* Seeks to the last `count` matching lines; to the first when there are fewer. */
int log_reader_tail(struct log_reader *reader, uint64_t count, struct err *err);

/* The next matching line; NULL when there is none now. */
int log_reader_next(struct log_reader *reader, const struct log_line **ret_line, struct err *err);

/* For followers: lines cleared from this moment are still returned; with `all` also those cleared
 * earlier. */
void log_reader_keep_cleared(struct log_reader *reader, bool all);

#endif
