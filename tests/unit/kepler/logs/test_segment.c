#include "test.h"

#include "kepler/logs/segment.h"
#include "kepler/logs/segment_index.h"

#define SALT UINT64_C(0x1234567890abcdef)

TEST(a_header_reads_back_from_either_copy)
{
    const struct segment_header header = { .salt = SALT, .first = 17, .created = 99 };
    unsigned char bytes[SEGMENT_HEADER_SIZE] = { 0 };
    const struct str view = str_bytes(bytes, sizeof(bytes));
    struct segment_header back;

    segment_header_encode(&header, bytes);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] ^= 0x20;
        CHECK(segment_header_decode(view, &back));
        CHECK(back.salt == SALT && back.first == 17 && back.created == 99);
        CHECK(back.format == SEGMENT_FRAMES && back.size == SEGMENT_HEADER_SIZE);
        bytes[i] ^= 0x20;
    }
    for (size_t n = 0; n < 2 * FRAME_HEAD; n++)
        CHECK(!segment_header_decode(str_slice(view, 0, n), &back));
    bytes[9] ^= 1;
    bytes[9 + FRAME_HEAD + 8 + strlen("log segment")] ^= 1;
    CHECK(!segment_header_decode(view, &back));
}

/* The whole head of a block. */
static bool decode_block(const unsigned char head[static SEGMENT_BLOCK_HEAD], uint64_t salt,
                         struct segment_block *ret_block)
{
    const struct segment_header header = { .salt = salt };
    const size_t size = segment_info_size(head, &header);

    if (size == 0 || size > SEGMENT_BLOCK_HEAD ||
        !segment_info_decode(str_bytes(head, size), &header, ret_block))
        return false;
    CHECK_INT(ret_block->head, SEGMENT_BLOCK_HEAD);
    segment_check_decode(str_bytes(head, SEGMENT_BLOCK_HEAD), &header, ret_block);
    return true;
}

TEST(a_block_reads_back_and_notices_every_flipped_bit)
{
    const char body[] = "some entries";
    struct segment_block block = { .length = sizeof(body),
                                   .lines = 2,
                                   .first = 5,
                                   .end = 7,
                                   .time_min = -1,
                                   .time_max = 3 },
                         back;
    unsigned char head[SEGMENT_BLOCK_HEAD];

    segment_mask_add(&block.services, "web");
    segment_block_encode(&block, SALT, body, head);
    CHECK(decode_block(head, SALT, &back));
    CHECK(back.length == sizeof(body) && back.lines == 2 && back.first == 5 && back.end == 7);
    CHECK(back.time_min == -1 && back.time_max == 3);
    CHECK(segment_mask_meets(&back.services, &block.services));
    CHECK(segment_block_is_whole(&back, SALT, body));
    CHECK(!segment_block_is_whole(&back, SALT, "some entriez"));
    CHECK(!decode_block(head, SALT + 1, &back));
    for (size_t i = 0; i < sizeof(head) * 8; i++) {
        head[i / 8] ^= (unsigned char)(1 << i % 8);
        CHECK(!decode_block(head, SALT, &back) || !segment_block_is_whole(&back, SALT, body));
        head[i / 8] ^= (unsigned char)(1 << i % 8);
    }
}

TEST(a_block_beyond_the_limit_is_refused)
{
    struct segment_block block = { .length = SEGMENT_BLOCK_MAX }, back;
    unsigned char head[SEGMENT_BLOCK_HEAD];
    unsigned char *body = mem_zalloc(SEGMENT_BLOCK_MAX);

    segment_block_encode(&block, SALT, body, head);
    CHECK(decode_block(head, SALT, &back));
    block.first = 2; /* beyond its own end */
    segment_block_encode(&block, SALT, body, head);
    CHECK(!decode_block(head, SALT, &back));
    mem_free_auto(&body);
}

TEST(entries_end_at_invalid_data)
{
    unsigned char bytes[SEGMENT_ENTRY_HEAD + 8] = { 0 };
    struct segment_entry entry = { .kind = SEGMENT_LINES, .lines = 1, .bytes = { NULL, 8 } }, back;
    struct str rest = str_bytes(bytes, sizeof(bytes));

    segment_entry_encode(&entry, bytes);
    CHECK(segment_entry_next(&rest, &back));
    CHECK_INT(back.bytes.n, 8);
    CHECK_INT(rest.n, 0);
    CHECK(!segment_entry_next(&rest, &back));
    rest = str_bytes(bytes, sizeof(bytes) - 1);
    CHECK(!segment_entry_next(&rest, &back));
    bytes[0] = 0;
    rest = str_bytes(bytes, sizeof(bytes));
    CHECK(!segment_entry_next(&rest, &back));
    bytes[0] = SEGMENT_LOST + 1;
    CHECK(!segment_entry_next(&rest, &back));
}

TEST(a_source_is_two_terminated_names)
{
    static const struct {
        struct str bytes;
        uint8_t stream;
        bool good;
    } cases[] = {
        { { "web\0hook\0", 9 }, SEGMENT_STDERR, true },
        { { "web\0\0", 5 }, SEGMENT_STDOUT, true },
        { { "\0\0", 2 }, SEGMENT_STDOUT, true },
        { { "web\0hook", 8 }, SEGMENT_STDOUT, false },
        { { "web\0hook\0x", 10 }, SEGMENT_STDOUT, false },
        { { "web\0", 4 }, SEGMENT_STDOUT, false },
        { { "", 0 }, SEGMENT_STDOUT, false },
        { { "web\0hook\0", 9 }, SEGMENT_STREAMS, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct segment_entry entry = { .kind = SEGMENT_SOURCE,
                                             .flags = cases[i].stream,
                                             .bytes = cases[i].bytes };
        struct segment_source source;

        CHECK_INT(segment_source_decode(&entry, &source), cases[i].good);
    }
}

TEST(an_index_keeps_only_contiguous_spans)
{
    struct segment_index index = { VEC_INIT, SEGMENT_HEADER_SIZE }, back = index;
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    unsigned char entry[SEGMENT_INDEX_ENTRY];
    uint64_t offset = SEGMENT_HEADER_SIZE;

    for (uint64_t i = 0; i < 5; i++) {
        const struct segment_block block = { .length = 40000,
                                             .head = SEGMENT_BLOCK_HEAD,
                                             .first = 10 * i,
                                             .end = 10 * i + 10,
                                             .time_min = (int64_t)i,
                                             .time_max = (int64_t)i + 1 };

        segment_index_add(&index, offset, &block);
        offset += segment_block_size(&block);
    }
    CHECK_INT(segment_index_end(&index), offset);
    CHECK_INT(index.spans.n, 3); /* two blocks each, and one that may grow */
    CHECK_INT(segment_index_finished(&index), 2);
    CHECK(index.spans.p[1].first == 20 && index.spans.p[1].time_max == 4);
    for (size_t i = 0; i < 3; i++) {
        segment_index_encode(&index.spans.p[i], SALT, entry);
        buf_add(&bytes, entry, sizeof(entry));
    }
    segment_index_decode(&back, buf_view(&bytes), SALT, offset);
    CHECK_INT(back.spans.n, 3);
    CHECK(memcmp(back.spans.p, index.spans.p, 3 * sizeof(*back.spans.p)) == 0);
    back.spans.n = 0;
    segment_index_decode(&back, buf_view(&bytes), SALT, offset - 1); /* ends beyond the file */
    CHECK_INT(back.spans.n, 2);
    back.spans.n = 0;
    segment_index_decode(&back, str_from_offset(buf_view(&bytes), SEGMENT_INDEX_ENTRY), SALT,
                         offset);
    CHECK_INT(back.spans.n, 0);
    segment_index_decode(&back, buf_view(&bytes), SALT + 1, offset);
    CHECK_INT(back.spans.n, 0);
    segment_index_done(&index);
    segment_index_done(&back);
}
