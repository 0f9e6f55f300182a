#include "kepler/logs/segment_index.h"

#include <assert.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/frame.h"
#include "core/data/record.h"

enum { VERSION = 1 };

/* A span as it is stored. */
struct stored {
    uint64_t offset, end, first;
    int64_t time_min, time_max;
    struct str services;
};

#define ARGS struct stored
static const struct record_field stored_fields[] = {
    RECORD("offset", INT, ARGS, offset, RECORD_REQUIRED | RECORD_WIDE),
    RECORD("end", INT, ARGS, end, RECORD_REQUIRED | RECORD_WIDE),
    RECORD("first", INT, ARGS, first, RECORD_REQUIRED | RECORD_WIDE),
    RECORD("from", INT, ARGS, time_min, RECORD_REQUIRED | RECORD_WIDE),
    RECORD("to", INT, ARGS, time_max, RECORD_REQUIRED | RECORD_WIDE),
    RECORD("services", BYTES, ARGS, services, RECORD_REQUIRED),
    { 0 },
};
static const struct record_type stored_type = RECORD_TYPE("log span", ARGS, stored_fields, 0);
#undef ARGS

void segment_index_done(struct segment_index *index)
{
    vec_done(&index->spans);
}

static bool is_finished(const struct segment_span *span)
{
    return span->end - span->offset >= SEGMENT_SPAN_SIZE;
}

void segment_index_add(struct segment_index *index, uint64_t offset,
                       const struct segment_block *block)
{
    const uint64_t end = offset + segment_block_size(block);
    struct segment_span *last;

    if (segment_index_finished(index) == index->spans.n) {
        struct segment_span span = {
            .offset = segment_index_end(index),
            .end = end,
            .first = block->first,
            .time_min = block->time_min,
            .time_max = block->time_max,
            .services = block->services,
        };
        VEC_PUSH(&index->spans, span);
        return;
    }
    last = &index->spans.p[index->spans.n - 1];
    last->end = end;
    if (block->time_min < last->time_min)
        last->time_min = block->time_min;
    if (block->time_max > last->time_max)
        last->time_max = block->time_max;
    segment_mask_join(&last->services, &block->services);
}

uint64_t segment_index_end(const struct segment_index *index)
{
    return index->spans.n ? index->spans.p[index->spans.n - 1].end : index->start;
}

size_t segment_index_finished(const struct segment_index *index)
{
    size_t n = index->spans.n;

    return n && !is_finished(&index->spans.p[n - 1]) ? n - 1 : n;
}

void segment_index_encode(const struct segment_span *span, uint64_t salt,
                          unsigned char out[static SEGMENT_INDEX_ENTRY])
{
    AUTO_BUF struct buf entry = BUF_INIT(SEGMENT_INDEX_ENTRY);
    unsigned char mask[SEGMENT_MASK_SIZE];
    const struct stored stored = {
        .offset = span->offset,
        .end = span->end,
        .first = span->first,
        .time_min = span->time_min,
        .time_max = span->time_max,
        .services = segment_mask_encode(&span->services, mask),
    };
    struct err err;

    (void)record_append(&entry, &stored_type, &stored, VERSION, salt, &err);
    assert(entry.n == SEGMENT_INDEX_ENTRY);
    memcpy(out, entry.p, entry.n);
}

static bool decode_span(const struct frame *frame, struct segment_span *ret_span)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct stored stored = { 0 };
    struct segment_mask services;
    struct err err;

    if (record_decode(&arena, &stored_type, frame->version, frame->payload, &stored, &err) < 0 ||
        !segment_mask_decode(stored.services, &services))
        return false;
    *ret_span = (struct segment_span){
        .offset = stored.offset,
        .end = stored.end,
        .first = stored.first,
        .time_min = stored.time_min,
        .time_max = stored.time_max,
        .services = services,
    };
    return true;
}

void segment_index_decode(struct segment_index *index, struct str bytes, uint64_t salt,
                          uint64_t size)
{
    struct frame_scan scan = { .bytes = bytes, .salt = salt };
    struct segment_span span;
    struct frame frame;

    while (frame_next(&scan, &frame) == FRAME_WHOLE) {
        if (!decode_span(&frame, &span))
            return;
        if (span.offset != segment_index_end(index) || span.end <= span.offset || span.end > size)
            return;
        VEC_PUSH(&index->spans, span);
    }
}
