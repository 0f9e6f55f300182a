/*
 * segment_index - locates times, numbers and services within a segment.
 *
 * A segment is divided into spans of whole blocks, at least SEGMENT_SPAN_SIZE bytes long. For each
 * span the index holds its place, the number of its first line, the earliest and latest time, and
 * which services may be in it. It is stored beside the segment, one record in a frame
 * (core/data/frame.h) for each finished span. The frames have the salt of the segment, so the
 * index of another file is rejected. Missing or wrong spans are rebuilt from the heads of blocks.
 *
 *     segment_index_decode -> segment_index_add... -> segment_index_done
 *
 * Memory: the heap, until segment_index_done. Threads: one at a time.
 */
#ifndef KEPLER_LOGS_SEGMENT_INDEX_H
#define KEPLER_LOGS_SEGMENT_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "kepler/logs/segment.h"

#define SEGMENT_SPAN_SIZE   ((uint64_t)64 << 10)
#define SEGMENT_INDEX_ENTRY 130

struct segment_span {
    uint64_t offset, end; /* bytes of the file */
    uint64_t first;       /* number of its first line */
    int64_t time_min, time_max;
    struct segment_mask services;
};

/* Zero is an empty index. The last span may still grow. */
struct segment_index {
    VEC(struct segment_span) spans;
    uint64_t start; /* where the first block of the file begins */
};

void segment_index_done(struct segment_index *index);

/* Adds the block at `offset`; blocks come in order. */
void segment_index_add(struct segment_index *index, uint64_t offset,
                       const struct segment_block *block);
/* The end of the last block; the first block's place when there is none. */
uint64_t segment_index_end(const struct segment_index *index);
/* Spans that no longer grow. */
size_t segment_index_finished(const struct segment_index *index);

void segment_index_encode(const struct segment_span *span, uint64_t salt,
                          unsigned char out[static SEGMENT_INDEX_ENTRY]);
/* Adds the spans in `bytes`, as far as they are contiguous and lie within `size` bytes. */
void segment_index_decode(struct segment_index *index, struct str bytes, uint64_t salt,
                          uint64_t size);

#endif
