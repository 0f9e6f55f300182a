/*
 * log_source - what one pipe brings, cut into lines.
 *
 * Bytes go straight from the pipe into the block of the writer; only the beginning of
 * a line whose end has not come is kept here. It is stored as it is when its end does
 * not come for LOG_PARTIAL_DELAY, when it reaches LOG_LINE_MAX, or when the pipe ends.
 * The first two are marked as open, and what follows as its continuation. Lines may
 * hold any bytes.
 *
 *     log_source_new -> { log_source_read | log_source_add }... -> log_source_end
 *         -> log_source_free
 *
 * log_store_tick stores beginnings that have waited long enough.
 *
 * Memory: the beginning of a line, on the heap while there is one. Threads: that of
 * the store.
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

/* Nanoseconds that the beginning of a line waits for its end. */
#define LOG_PARTIAL_DELAY INT64_C(1000000000)
/* Bytes that one read takes. */
#define LOG_READ_SIZE ((size_t)64 << 10)

/* The less is left to read, the later. */
enum log_source_result {
    LOG_SOURCE_DATA,  /* there may be more */
    LOG_SOURCE_ALL,   /* that was all there was: another read may only find the end */
    LOG_SOURCE_LATER, /* nothing now */
    LOG_SOURCE_END,   /* nobody writes to it */
};

/* `hook` may be NULL. `keep` false: what comes is read and thrown away. */
int log_source_new(struct log_store *store, const char *service, const char *hook,
                   enum segment_stream stream, bool keep, struct log_source **ret_source,
                   struct err *err);
/* Ends it first. NULL is fine. */
void log_source_free(struct log_source *source);

/* One read from `fd`. Fails only when the read does. */
int log_source_read(struct log_source *source, int fd, enum log_source_result *ret_result,
                    struct err *err);
/* As if it had come from the pipe: any bytes, lines or parts of lines. */
void log_source_add(struct log_source *source, struct str bytes);
/* The pipe has ended: a line without an end is a line. */
void log_source_end(struct log_source *source);

/* For the store: when the beginning of a line that waits is due; and to store it. */
int64_t log_source_due(const struct log_source *source);
void log_source_flush(struct log_source *source);
struct log_source *log_source_next(const struct log_source *source);

#endif
