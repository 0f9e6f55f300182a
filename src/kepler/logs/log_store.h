/*
 * log_store - the lines of one config: a folder of segments, one writer.
 *
 *     log_store_open -> log_source_new... -> { log_source_read, log_store_tick }... ->
 * log_store_free
 *
 * The owner calls log_store_tick when log_store_due has come, which writes waiting lines, and
 * log_store_clean now and then, which enforces the limits. Readers (kepler/logs/log_reader.h) only
 * need the folder: they may run in any thread or process, with or without a store. Followers
 * inside this process register a callback.
 *
 *     logs/lock               held by the writer
 *         logs/%016x.log .idx     segments (kepler/logs/segment.h, kepler/logs/segment_index.h)
 *     logs/cleared            cleared lines (kepler/logs/cleared.h)
 *     logs/limits             the age limit, for readers (kepler/logs/log_limits.h)
 *
 * A write can take as long as the disk needs, so a program that must not block gives the store its
 * own thread. Memory: about 600 KiB plus what sources keep. Threads: one at a time, for the store
 * and its sources.
 */
#ifndef KEPLER_LOGS_LOG_STORE_H
#define KEPLER_LOGS_LOG_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cleared;
struct err;
struct log_source;
struct log_store;
struct log_writer;

#define LOG_STORE_FLUSH_INTERVAL INT64_C(100000000) /* nanoseconds */
#define LOG_STORE_BATCH_LINES    4096
#define LOG_STORE_MAX_SIZE       ((uint64_t)1 << 30)
#define LOG_STORE_SEGMENT_MIN    ((uint64_t)256 << 10)
#define LOG_STORE_SEGMENT_MAX    ((uint64_t)64 << 20)
#define LOG_STORE_SEGMENT_AGE    (INT64_C(86400) * 1000000000)
/* Maximum duration of one log_store_clean. */
#define LOG_STORE_CLEAN_SLICE INT64_C(25000000)

/* Zero means the default everywhere. */
struct log_store_options {
    int64_t flush_interval;
    uint32_t batch_lines;
    uint64_t max_size; /* bytes of all segments */
    int64_t max_age;   /* nanoseconds; 0: no limit */
    mode_t mode;       /* file mode, 0600 by default */
    bool sync;         /* each write is on the disk, or the server, when it returns */
};

struct log_store_stats {
    uint64_t lines, bytes; /* written since the store was opened */
    uint64_t flushes, lost;
    uint64_t next_seq;
    int errnum; /* why writing fails now; 0: it works */
};

typedef void log_store_fn(void *self);

/* Creates the folder. Fails with ERR_BUSY when another writer holds it. `options` may be NULL. */
int log_store_open(const char *folder, const struct log_store_options *options,
                   struct log_store **ret_store, struct err *err);
/* Writes waiting lines; sources must be freed before. NULL is fine. */
void log_store_free(struct log_store *store);

/* When log_store_tick is due next, of clock_now; CLOCK_NEVER: nothing waits. */
int64_t log_store_due(const struct log_store *store);
void log_store_tick(struct log_store *store);
/* Writes all whole lines now. Fails when the disk does; they are kept while there is room. */
int log_store_flush(struct log_store *store, struct err *err);
/* Registers `fn` to be called after each write. */
void log_store_on_data(struct log_store *store, log_store_fn *fn, void *self);

/* Clears all lines of `service` so far, with those of its hooks. */
int log_store_clear(struct log_store *store, const char *service, struct err *err);
/* Reclaims space, for LOG_STORE_CLEAN_SLICE at most. `ret_more`: there is more to do. */
int log_store_clean(struct log_store *store, bool *ret_more, struct err *err);
/* When log_store_clean is due next, of clock_now; CLOCK_NEVER: not before lines are written or
 * cleared. */
int64_t log_store_clean_due(const struct log_store *store);

struct log_store_stats log_store_stats(const struct log_store *store);

/* --- for the other files of this folder ---------------------------------------------- */

struct log_writer *log_store_writer(struct log_store *store);
/* The list of sources, maintained by log_source. */
struct log_source **log_store_sources(struct log_store *store);
/* When the beginning of a line is due. */
void log_store_expect(struct log_store *store, int64_t due);
/* Notifies followers if `flushes` has grown. */
void log_store_notify(struct log_store *store);

#endif
