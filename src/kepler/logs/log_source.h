/*
 * log_source - splits the output of one pipe into lines.
 *
 * Bytes go straight from the pipe into the writer's block; only the beginning of an unfinished
 * line is kept here. It is stored unfinished when its end does not arrive within
 * LOG_PARTIAL_DELAY, when it reaches LOG_LINE_MAX, or when the pipe ends. In the first two cases
 * it is marked as open, and the rest as its continuation. Lines may hold any bytes.
 *
 *     log_source_new -> { log_source_read | log_source_add }... -> log_source_end
 *         -> log_source_free
 *
 * log_store_tick stores beginnings that have waited long enough.
 *
 * Memory: the beginning of a line, on the heap while there is one. Threads: the store's.
 */
#ifndef KEPLER_LOGS_LOG_SOURCE_H
#define KEPLER_LOGS_LOG_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "kepler/logs/segment.h"

struct err;
struct log_source;
struct log_store;

/* Maximum wait for the end of a line, in nanoseconds. */
#define LOG_PARTIAL_DELAY INT64_C(1000000000)
/* Bytes per read. */
#define LOG_READ_SIZE ((size_t)64 << 10)

/* Ordered by how soon the next read is due. */
enum log_source_result {
    LOG_SOURCE_DATA,  /* there may be more */
    LOG_SOURCE_ALL,   /* drained: another read may only find the end */
    LOG_SOURCE_LATER, /* nothing now */
    LOG_SOURCE_END,   /* no writer left */
};

/* `hook` may be NULL. `keep` false: input is read and discarded. */
int log_source_new(struct log_store *store, const char *service, const char *hook,
                   enum segment_stream stream, bool keep, struct log_source **ret_source,
                   struct err *err);
/* Ends it first. NULL is fine. */
void log_source_free(struct log_source *source);

/* Reads once from `fd`. Fails only when the read does. */
int log_source_read(struct log_source *source, int fd, enum log_source_result *ret_result,
                    struct err *err);
/* Adds bytes as if from the pipe: lines or parts of lines. */
void log_source_add(struct log_source *source, struct str bytes);
/* The pipe has ended: an unfinished line becomes a line. */
void log_source_end(struct log_source *source);

/* For the store: when a waiting beginning is due; and to store it. */
int64_t log_source_due(const struct log_source *source);
void log_source_flush(struct log_source *source);
struct log_source *log_source_next(const struct log_source *source);

#endif
