/*
 * log_writer - lines to the end of the newest segment.
 *
 * Lines gather in a block in memory and go to disk with one write, when the block is
 * large enough or `due` has come. Nothing waits for readers. Nothing is synced unless
 * `sync` says so: what a flush has written survives the end of this process however it
 * ends; when the machine stops, the checksums of the blocks show what arrived.
 *
 *     p = log_writer_reserve(writer, origin, n);       room for up to n bytes
 *     log_writer_commit(writer, origin, used, lines, flags);
 *
 * so that a pipe is read straight into the block. When the disk is full the block is
 * tried again each interval, and dropped when it has no room left; the place of lost
 * lines is marked by a line that counts them. A service is never held up by that.
 *
 * Memory: one block, the names of origins, the index of the newest segment.
 * Threads: one at a time.
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

/* Bytes of one line; what is longer is cut in pieces that say so. */
#define LOG_LINE_MAX ((size_t)128 << 10)
/* A block of this many bytes is written at once. */
#define LOG_BLOCK_FULL ((size_t)256 << 10)

struct log_writer_options {
    int64_t flush_interval; /* nanoseconds that a line waits at most */
    uint32_t batch_lines;   /* that many lines do not wait */
    uint64_t segment_size;  /* bytes, then a new one begins */
    int64_t segment_age;    /* nanoseconds, the same */
    bool sync;              /* each write is on the disk, or the server, when it returns */
    mode_t mode;            /* of the files */
};

/* Where lines come from. */
struct log_origin {
    const char *service, *hook; /* `hook` is "" for the service itself */
    enum segment_stream stream;
    uint64_t block; /* the last block that knows it, and its number there */
    uint16_t number;
    uint64_t lost, marked; /* lines lost and not yet recorded on disk; recorded in this block */
};

struct log_writer_stats {
    uint64_t lines, bytes; /* written since the store was opened */
    uint64_t flushes, lost;
    int errnum; /* why the last write failed; 0: it did not */
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
    VEC(struct log_origin *) sources; /* of this block, by number */
    struct segment_entry last;        /* the newest entry, which may still grow */
    size_t last_at;                   /* 0: none that may */

    int fd, index_fd;
    struct segment_header header;
    uint64_t size; /* of the newest segment */
    struct segment_index index;
    size_t indexed; /* spans that are on disk */

    uint64_t next_seq;
    int64_t due, retry; /* monotonic; CLOCK_NEVER: nothing waits */
    struct log_writer_stats stats;
    int loss; /* why lines were lost the last time */
};

/* Go on at the end of what is in `folder`, which is borrowed. A torn end is cut off. */
int log_writer_open(struct log_writer *writer, int folder, const struct log_writer_options *options,
                    struct err *err);
/* Flushes. */
void log_writer_close(struct log_writer *writer);

/* Finds or makes it; lives as long as the writer. Fails with ERR_LIMIT for long names. */
int log_writer_origin(struct log_writer *writer, const char *service, const char *hook,
                      enum segment_stream stream, struct log_origin **ret_origin, struct err *err);

/* Room for `n` bytes, LOG_LINE_MAX at most. */
char *log_writer_reserve(struct log_writer *writer, struct log_origin *origin, size_t n);
/* The first `n` bytes of that room are `lines` lines. None at all is fine. */
void log_writer_commit(struct log_writer *writer, struct log_origin *origin, size_t n,
                       uint32_t lines, unsigned flags);

/* Write what waits. True when nothing waits. */
bool log_writer_flush(struct log_writer *writer);
/* The newest segment gets no more lines; the next line begins a new one. */
void log_writer_seal(struct log_writer *writer);

#endif
