/*
 * log_reader - stored lines in order, from a folder of segments.
 *
 *     log_reader_open -> [log_reader_tail] -> { log_reader_next }... -> log_reader_free
 *
 * The end is the end for now: after more lines were written, log_reader_next goes on. Followers are
 * notified by log_store_on_data.
 *
 * The folder may be written, cleaned and removed from meanwhile, by any process. Damage costs
 * the lines of its block, and a line in their place says so: of the service "kepler", `lost`,
 * with the number of lines, the file and the offset. For the first N lines, stop after N.
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

/* The filter is copied, what it points to is borrowed; NULL matches all. A folder that is not
 * there has no lines, and cannot be followed. */
int log_reader_open(const char *folder, const struct log_filter *filter,
                    struct log_reader **ret_reader, struct err *err);
/* NULL is fine. */
void log_reader_free(struct log_reader *reader);

/* Go to the last `count` lines that are wanted; all of them when there are fewer. */
int log_reader_tail(struct log_reader *reader, uint64_t count, struct err *err);

/* The next line that is wanted; NULL when there is none now. */
int log_reader_next(struct log_reader *reader, const struct log_line **ret_line, struct err *err);

/* Followers get everything: lines that are cleared from now on are still handed out; with `all`
 * also those that are cleared already. */
void log_reader_keep_cleared(struct log_reader *reader, bool all);

#endif
