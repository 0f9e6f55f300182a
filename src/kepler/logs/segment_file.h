/*
 * segment_file - reads one segment on disk.
 *
 * Another process may append meanwhile. Unreadable data is skipped and reported in `gap`: a
 * damaged block costs its own lines only, since the next one is found by its head, or searched
 * for. An incomplete block is the end for now.
 *
 *     segment_file_open -> { segment_file_scan, segment_file_next }... -> segment_file_close
 *
 * Files are named after their first line number, "%016x.log", and their index "%016x.idx", so
 * names sort in line order.
 *
 * Memory: one window of the file on the heap. Threads: one at a time.
 */
#ifndef KEPLER_LOGS_SEGMENT_FILE_H
#define KEPLER_LOGS_SEGMENT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "kepler/logs/segment.h"
#include "kepler/logs/segment_index.h"

struct err;

#define SEGMENT_FILE_NAME_SIZE 24
/* Maximum size of an index file. */
#define SEGMENT_FILE_INDEX_MAX ((size_t)16 << 20)

enum segment_part { SEGMENT_PART_LOG, SEGMENT_PART_INDEX, SEGMENT_PART_TEMP };

/* Data skipped before a block, or before the end. */
struct segment_gap {
    uint64_t offset, size;      /* size 0: nothing */
    bool unknown;               /* not even the block heads are readable */
    bool tail;                  /* followed by bytes that do not begin a block */
    struct segment_block heads; /* known facts: lines, numbers, times and services of all of them */
};

struct segment_file {
    int fd;
    struct segment_header header;
    struct segment_index index;
    struct segment_gap gap; /* before the last result of segment_file_next */
    unsigned char *window;  /* bytes of the file from window_at on */
    uint64_t window_at;
    size_t window_n, window_cap;
};

#define SEGMENT_FILE_NONE                                                                          \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* The segment numbers in a folder, in order. */
struct segment_list {
    VEC(uint64_t) firsts;
};

void segment_file_name(uint64_t first, enum segment_part part,
                       char out[static SEGMENT_FILE_NAME_SIZE]);
/* Replaces the content of the list. */
int segment_file_list(int folder, struct segment_list *list, struct err *err);

/* Fails with ERR_NOT_FOUND when it is gone, with ERR_INVALID when it is not a segment. */
int segment_file_open(int folder, uint64_t first, struct segment_file *ret_file, struct err *err);
/* Not open is fine. */
void segment_file_close(struct segment_file *file);

/* Extends the index to the end of the file. */
int segment_file_scan(struct segment_file *file, struct err *err);

/* Finds the next whole block at `*offset` or later; sets `*offset` to its place and `ret_body` to a
 * view that the next call ends. When there is none now, `ret_body->p` is NULL and `*offset` is
 * after the damaged blocks whose heads are whole; other bytes at the end may be half a block that
 * is being written, and count as a gap only once something follows. */
int segment_file_next(struct segment_file *file, uint64_t *offset, struct segment_block *ret_block,
                      struct str *ret_body, struct err *err);
/* The same by heads alone: the entries may be damaged. `ret_found` is false when there is none. */
int segment_file_next_head(struct segment_file *file, uint64_t *offset,
                           struct segment_block *ret_block, bool *ret_found, struct err *err);
/* Reports the bytes after `offset` that are not a block as a gap: for a closed segment. */
int segment_file_tail(struct segment_file *file, uint64_t offset, struct err *err);
/* Drops the read-ahead window: the end of the file may have changed. */
void segment_file_forget(struct segment_file *file);

#endif
