#include "logs/segment_index.h"

#include <endian.h>
#include <string.h>

#include "base/checksum.h"

enum { CHECK_AT = SEGMENT_INDEX_ENTRY - 8, WORDS = SEGMENT_INDEX_ENTRY / 8 };

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
    const uint64_t end = offset + SEGMENT_BLOCK_HEAD + block->length;
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
    return index->spans.n ? index->spans.p[index->spans.n - 1].end : SEGMENT_HEADER_SIZE;
}

size_t segment_index_finished(const struct segment_index *index)
{
    size_t n = index->spans.n;

    return n && !is_finished(&index->spans.p[n - 1]) ? n - 1 : n;
}

void segment_index_encode(const struct segment_span *span, uint64_t salt,
                          unsigned char out[static SEGMENT_INDEX_ENTRY])
{
    uint64_t words[WORDS] = {
        span->offset,
        span->end,
        span->first,
        (uint64_t)span->time_min,
        (uint64_t)span->time_max,
        span->services.words[0],
        span->services.words[1],
        span->services.words[2],
    };

    for (size_t i = 0; i < WORDS; i++)
        words[i] = htole64(words[i]);
    memcpy(out, words, CHECK_AT);
    words[WORDS - 1] = htole64(checksum(out, CHECK_AT, salt));
    memcpy(out + CHECK_AT, &words[WORDS - 1], sizeof(words[0]));
}

static bool decode_span(const char *bytes, uint64_t salt, struct segment_span *ret_span)
{
    uint64_t words[WORDS];

    memcpy(words, bytes, sizeof(words));
    for (size_t i = 0; i < WORDS; i++)
        words[i] = le64toh(words[i]);
    if (words[WORDS - 1] != checksum(bytes, CHECK_AT, salt))
        return false;
    *ret_span = (struct segment_span){
        .offset = words[0],
        .end = words[1],
        .first = words[2],
        .time_min = (int64_t)words[3],
        .time_max = (int64_t)words[4],
        .services = { { words[5], words[6], words[7] } },
    };
    return true;
}

void segment_index_decode(struct segment_index *index, struct str bytes, uint64_t salt,
                          uint64_t size)
{
    struct segment_span span;

    for (; bytes.n >= SEGMENT_INDEX_ENTRY; bytes = str_from_offset(bytes, SEGMENT_INDEX_ENTRY)) {
        if (!decode_span(bytes.p, salt, &span))
            return;
        if (span.offset != segment_index_end(index) || span.end <= span.offset || span.end > size)
            return;
        VEC_PUSH(&index->spans, span);
    }
}
