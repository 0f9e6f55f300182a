/* Any bytes as a header, head of a block, entries, index: nothing is read beyond them, and what a
 * cursor hands out lies within. The first byte says which. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "kepler/logs/cleared.h"
#include "kepler/logs/log_cursor.h"
#include "kepler/logs/log_filter.h"
#include "kepler/logs/segment.h"
#include "kepler/logs/segment_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct str body)
{
    const struct log_filter all = { .since = 0 }, levels = { .levels = 2, .no_hooks = true };
    const struct cleared cleared = { .seqs = MAP_INIT };
    struct log_cursor cursor = { .filter = NULL };
    struct log_line line;

    log_cursor_begin(&cursor, &all, &cleared, body);
    while (log_cursor_next(&cursor, 0, &line)) {
        assert(line.text.p >= body.p && line.text.p + line.text.n <= body.p + body.n);
        assert(strlen(line.service) + strlen(line.hook) <= body.n);
    }
    log_cursor_begin(&cursor, &levels, &cleared, body);
    (void)log_cursor_count(&cursor, 3);
    log_cursor_begin(&cursor, &all, &cleared, body);
    (void)log_cursor_count(&cursor, 3);
    log_cursor_done(&cursor);
}

static void decode_head(struct str bytes, const struct segment_header *header)
{
    const size_t size = segment_info_size((const unsigned char *)bytes.p, header);
    struct segment_block block;

    if (size == 0 || size > bytes.n ||
        !segment_info_decode(str_slice(bytes, 0, size), header, &block))
        return;
    assert(block.length <= SEGMENT_BLOCK_MAX);
    if (block.head <= bytes.n)
        segment_check_decode(str_slice(bytes, 0, block.head), header, &block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct segment_index index = { .start = 0 };
    struct segment_header header;
    struct str rest;

    if (size == 0)
        return 0;
    rest = str_bytes(data + 1, size - 1);
    switch (data[0] % 4) {
    case 0: walk(rest); break;
    case 1: (void)segment_header_decode(rest, &header); break;
    case 2:
        header = (struct segment_header){ .format = data[0] & 0x80 ? SEGMENT_OLD : SEGMENT_FRAMES };
        if (rest.n >= SEGMENT_PEEK)
            decode_head(rest, &header);
        break;
    default: segment_index_decode(&index, rest, 0, UINT64_MAX); segment_index_done(&index);
    }
    return 0;
}
