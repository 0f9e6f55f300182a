/*
 * log_writer - appends lines to the newest segment.
 *
 * Lines gather in a block in memory and go to disk in one write, when the block is large enough or
 * `due` has come. Readers are never waited for. Data is only synced if `sync` is set: flushed
 * lines survive any end of this process; after a machine crash, the checksums of the blocks show
 * which data arrived.
 *
 *     p = log_writer_reserve(writer, origin, n);       room for up to n bytes
 *     log_writer_commit(writer, origin, used, lines, flags);
 *
 * This lets a pipe be read straight into the block. When the disk is full, the block is retried at
 * each interval, and dropped when it has no room left; a line in place of the lost ones counts
 * them. Services are never delayed by that.
 *
 * Memory: one block, the names of origins, the index of the newest segment. Threads: one at a
 * time.
 */
#ifndef KEPLER_LOGS_LOG_WRITER_H
#define KEPLER_LOGS_LOG_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/arena.h"
#include "core/base/map.h"
#include "kepler/logs/segment.h"
#include "kepler/logs/segment_index.h"

struct err;

/* Maximum bytes of one line; longer ones are cut into marked pieces. */
#define LOG_LINE_MAX ((size_t)128 << 10)
/* A block of this size is written at once. */
#define LOG_BLOCK_FULL ((size_t)256 << 10)

struct log_writer_options {
    int64_t flush_interval; /* maximum delay of a line, nanoseconds */
    uint32_t batch_lines;   /* this many lines are written at once */
    uint64_t segment_size;  /* maximum bytes of a segment */
    int64_t segment_age;    /* maximum age of a segment, nanoseconds */
    bool sync;              /* each write is on the disk, or the server, when it returns */
    mode_t mode;            /* of the files */
};

/* A source of lines. */
struct log_origin {
    const char *service, *hook; /* `hook` is "" for the service itself */
    enum segment_stream stream;
    uint64_t block; /* the last block that defines it, and its number there */
    uint16_t number;
    uint64_t lost, marked; /* lost lines not recorded on disk yet; recorded in this block */
};

struct log_writer_stats {
    uint64_t lines, bytes; /* written since the store was opened */
    uint64_t flushes, lost;
    int errnum; /* why the last write failed; 0: it succeeded */
};

struct log_writer {
    int folder;
    struct log_writer_options options;
    struct arena arena;
    struct map origins;

    unsigned char *block; /* room for the head, then entries */
    size_t used;          /* bytes of entries */
    struct segment_block head;
    uint64_t block_number;
    VEC(struct log_origin *) sources; /* sources of this block, by number */
    struct segment_entry last;        /* the newest entry, which may still grow */
    size_t last_at;                   /* 0: none that may grow */

    int fd, index_fd;
    struct segment_header header;
    uint64_t size; /* index of the newest segment */
    struct segment_index index;
    size_t indexed; /* spans that are on disk */

    uint64_t next_seq;
    int64_t due, retry; /* monotonic; CLOCK_NEVER: nothing waits */
    struct log_writer_stats stats;
    int loss; /* errno of the last lost lines */
};

/* Continues at the end of `folder`, which is borrowed. Truncates a torn end. */
int log_writer_open(struct log_writer *writer, int folder, const struct log_writer_options *options,
                    struct err *err);
/* Flushes. */
void log_writer_close(struct log_writer *writer);

/* Finds or creates it; valid as long as the writer. Fails with ERR_LIMIT for long names. */
int log_writer_origin(struct log_writer *writer, const char *service, const char *hook,
                      enum segment_stream stream, struct log_origin **ret_origin, struct err *err);

/* Reserves room for `n` bytes, LOG_LINE_MAX at most. */
char *log_writer_reserve(struct log_writer *writer, struct log_origin *origin, size_t n);
/* Commits the first `n` bytes of that room, which are `lines` lines. Zero is fine. */
void log_writer_commit(struct log_writer *writer, struct log_origin *origin, size_t n,
                       uint32_t lines, unsigned flags);

/* Writes waiting lines. True when none are left. */
bool log_writer_flush(struct log_writer *writer);
/* Closes the newest segment; the next line begins a new one. */
void log_writer_seal(struct log_writer *writer);

#endif
