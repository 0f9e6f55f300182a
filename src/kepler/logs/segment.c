#include "kepler/logs/segment.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/checksum.h"
#include "core/base/err.h"
#include "core/data/record.h"

enum {
    VERSION = 1, /* for both records */
    INFO_MAX = 1 << 10,
    MASK_BITS = SEGMENT_MASK_WORDS * 64,
};

static const char purpose[] = "log segment";

#define ARGS struct segment_header
static const struct record_field header_fields[] = {
    RECORD("first", INT, ARGS, first, RECORD_REQUIRED | RECORD_WIDE),
    RECORD("created", INT, ARGS, created, RECORD_REQUIRED | RECORD_WIDE),
    { 0 },
};
static const struct record_type header_type = RECORD_TYPE("log segment", ARGS, header_fields, 0);
#undef ARGS

/* The block's own data from its head. */
struct info {
    uint32_t length, lines;
    uint64_t first, end;
    int64_t time_min, time_max;
    struct str services;
};

static int check_info(const void *record, struct err *err)
{
    const struct info *info = record;

    if (info->first > info->end || info->services.n != SEGMENT_MASK_SIZE)
        return err_set(err, ERR_INVALID, "invalid block info");
    return 0;
}

#define ARGS struct info
static const struct record_field info_fields[] = {
    RECORD("bytes", INT, ARGS, length, RECORD_REQUIRED | RECORD_WIDE,
           RECORD_RANGE(0, (int64_t)SEGMENT_BLOCK_MAX)),
    RECORD("lines", INT, ARGS, lines, RECORD_REQUIRED | RECORD_WIDE),
    RECORD("first", INT, ARGS, first, RECORD_REQUIRED | RECORD_WIDE),
    RECORD("end", INT, ARGS, end, RECORD_REQUIRED | RECORD_WIDE),
    RECORD("from", INT, ARGS, time_min, RECORD_REQUIRED | RECORD_WIDE),
    RECORD("to", INT, ARGS, time_max, RECORD_REQUIRED | RECORD_WIDE),
    RECORD("services", BYTES, ARGS, services, RECORD_REQUIRED),
    { 0 },
};
static const struct record_type info_type =
    RECORD_TYPE("log block", ARGS, info_fields, 0, .check = check_info);
#undef ARGS

static void put_64(unsigned char *p, uint64_t x)
{
    x = htole64(x);
    memcpy(p, &x, sizeof(x));
}

static void put_32(unsigned char *p, uint32_t x)
{
    x = htole32(x);
    memcpy(p, &x, sizeof(x));
}

static uint64_t get_64(const unsigned char *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof(x));
    return le64toh(x);
}

static uint32_t get_32(const unsigned char *p)
{
    uint32_t x;

    memcpy(&x, p, sizeof(x));
    return le32toh(x);
}

/* --- the format before, for reading ---------------------------------------------------- */

/*
 *     header  | magic 8 | salt 8 | first seq 8 | created 8 | zero 24 | check 8 |   twice
 *
 *     block   | magic 8 | head check 8 | body check 8 | length 4 | lines 4 |
 *             | first seq 8 | end seq 8 | time min 8 | time max 8 | services 24 | entries
 */
enum {
    OLD_MAGIC_SIZE = 8,
    OLD_HEADER_COPY = 64,
    OLD_HEADER_CHECKED = OLD_HEADER_COPY - 8, /* bytes before its check */
    OLD_BLOCK_HEAD = 88,
    OLD_HEAD_CHECK_AT = 8,
    OLD_HEAD_CHECKED_AT = 16,
};

static const char old_header_magic[OLD_MAGIC_SIZE] = { '\x89', 'k',  'l',    's',
                                                       '\r',   '\n', '\x1a', '1' };
static const char old_block_magic[OLD_MAGIC_SIZE] = {
    '\x89', 'k', 'l', 'b', '\r', '\n', '\x1a', '1'
};

static bool decode_old_copy(const unsigned char *bytes, struct segment_header *ret_header)
{
    uint64_t salt = get_64(bytes + 8);

    if (memcmp(bytes, old_header_magic, OLD_MAGIC_SIZE) != 0 ||
        get_64(bytes + OLD_HEADER_CHECKED) != checksum(bytes, OLD_HEADER_CHECKED, salt))
        return false;
    *ret_header = (struct segment_header){
        .salt = salt,
        .first = get_64(bytes + 16),
        .created = (int64_t)get_64(bytes + 24),
        .format = SEGMENT_OLD,
        .size = 2 * OLD_HEADER_COPY,
    };
    return true;
}

static bool decode_old_header(struct str bytes, struct segment_header *ret_header)
{
    const unsigned char *p = (const unsigned char *)bytes.p;

    return bytes.n >= (size_t)2 * OLD_HEADER_COPY &&
           (decode_old_copy(p, ret_header) || decode_old_copy(p + OLD_HEADER_COPY, ret_header));
}

static bool decode_old_head(struct str bytes, uint64_t salt, struct segment_block *ret_block)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    struct segment_block block;

    if (bytes.n < OLD_BLOCK_HEAD ||
        get_64(p + OLD_HEAD_CHECK_AT) !=
            checksum(p + OLD_HEAD_CHECKED_AT, OLD_BLOCK_HEAD - OLD_HEAD_CHECKED_AT, salt))
        return false;
    block = (struct segment_block){
        .head = OLD_BLOCK_HEAD,
        .body_check = get_64(p + 16),
        .has_check = true,
        .length = get_32(p + 24),
        .lines = get_32(p + 28),
        .first = get_64(p + 32),
        .end = get_64(p + 40),
        .time_min = (int64_t)get_64(p + 48),
        .time_max = (int64_t)get_64(p + 56),
    };
    (void)segment_mask_decode(str_slice(bytes, 64, SEGMENT_MASK_SIZE), &block.services);
    if (block.length > SEGMENT_BLOCK_MAX || block.first > block.end)
        return false;
    *ret_block = block;
    return true;
}

/* --- headers --------------------------------------------------------------------------- */

/* Two copies of each part: without the salt, nothing in the file can be read. */
void segment_header_encode(const struct segment_header *header,
                           unsigned char out[static SEGMENT_HEADER_SIZE])
{
    AUTO_BUF struct buf bytes = BUF_INIT(SEGMENT_HEADER_SIZE);
    struct err err;

    frame_file_begin(&bytes, purpose, header->salt);
    for (int copy = 0; copy < 2; copy++)
        (void)record_append(&bytes, &header_type, header, VERSION, header->salt, &err);
    assert(bytes.n == SEGMENT_HEADER_SIZE);
    memcpy(out, bytes.p, bytes.n);
}

/* The intact copy, wherever it is. */
static bool decode_header(struct frame_scan *scan, struct segment_header *ret_header)
{
    const size_t start = scan->at;
    enum frame_step step;
    struct frame frame;

    while ((step = frame_next(scan, &frame)) == FRAME_WHOLE || step == FRAME_DAMAGE) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct segment_header header = { .salt = scan->salt };
        struct err err;

        if (step != FRAME_WHOLE)
            continue;
        if (record_decode(&arena, &header_type, frame.version, frame.payload, &header, &err) < 0)
            return false;
        header.salt = scan->salt;
        header.size = (uint32_t)(start + 2 * frame.size);
        *ret_header = header;
        return true;
    }
    return false;
}

bool segment_header_decode(struct str bytes, struct segment_header *ret_header)
{
    struct frame_scan scan;
    struct err err;

    if (frame_file_open(&scan, bytes, purpose, &err) < 0)
        return decode_old_header(bytes, ret_header);
    return decode_header(&scan, ret_header);
}

/* --- blocks ---------------------------------------------------------------------------- */

void segment_block_encode(const struct segment_block *block, uint64_t salt, const void *body,
                          unsigned char out[static SEGMENT_BLOCK_HEAD])
{
    AUTO_BUF struct buf head = BUF_INIT(SEGMENT_BLOCK_HEAD);
    unsigned char mask[SEGMENT_MASK_SIZE];
    const struct info info = {
        .length = block->length,
        .lines = block->lines,
        .first = block->first,
        .end = block->end,
        .time_min = block->time_min,
        .time_max = block->time_max,
        .services = segment_mask_encode(&block->services, mask),
    };
    struct err err;

    assert(block->length <= SEGMENT_BLOCK_MAX);
    (void)record_append(&head, &info_type, &info, VERSION, salt, &err);
    assert(head.n == SEGMENT_BLOCK_HEAD - FRAME_HEAD);
    memcpy(out, head.p, head.n);
    frame_head_encode(VERSION, salt, str_bytes(body, block->length), (char *)out + head.n);
}

struct str segment_block_magic(const struct segment_header *header)
{
    return header->format == SEGMENT_OLD ? (struct str){ old_block_magic, OLD_MAGIC_SIZE }
                                         : frame_magic();
}

size_t segment_info_size(const unsigned char *bytes, const struct segment_header *header)
{
    struct frame_head head;

    if (header->format == SEGMENT_OLD)
        return memcmp(bytes, old_block_magic, OLD_MAGIC_SIZE) == 0 ? OLD_BLOCK_HEAD : 0;
    if (!frame_head_decode((const char *)bytes, header->salt, &head) || head.length > INFO_MAX)
        return 0;
    return FRAME_HEAD + head.length;
}

bool segment_info_decode(struct str bytes, const struct segment_header *header,
                         struct segment_block *ret_block)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct frame_scan scan = { .bytes = bytes, .salt = header->salt };
    struct info info = { 0 };
    struct segment_block block;
    struct frame frame;
    struct err err;

    if (header->format == SEGMENT_OLD)
        return decode_old_head(bytes, header->salt, ret_block);
    if (frame_next(&scan, &frame) != FRAME_WHOLE ||
        record_decode(&arena, &info_type, frame.version, frame.payload, &info, &err) < 0)
        return false;
    block = (struct segment_block){
        .length = info.length,
        .lines = info.lines,
        .first = info.first,
        .end = info.end,
        .time_min = info.time_min,
        .time_max = info.time_max,
        .head = (uint32_t)(frame.size + FRAME_HEAD),
    };
    (void)segment_mask_decode(info.services, &block.services);
    *ret_block = block;
    return true;
}

void segment_check_decode(struct str head, const struct segment_header *header,
                          struct segment_block *block)
{
    struct frame_head entries;

    if (header->format == SEGMENT_OLD)
        return; /* the info had it */
    block->has_check =
        frame_head_decode(head.p + block->head - FRAME_HEAD, header->salt, &entries) &&
        entries.length == block->length;
    if (block->has_check)
        block->body_check = entries.check;
}

uint64_t segment_block_size(const struct segment_block *block)
{
    return (uint64_t)block->head + block->length;
}

bool segment_block_is_whole(const struct segment_block *block, uint64_t salt, const void *body)
{
    return block->has_check && checksum(body, block->length, salt) == block->body_check;
}

/* --- entries --------------------------------------------------------------------------- */

void segment_entry_encode(const struct segment_entry *entry,
                          unsigned char out[static SEGMENT_ENTRY_HEAD])
{
    assert(entry->bytes.n <= SEGMENT_BLOCK_MAX);
    out[0] = (unsigned char)entry->kind;
    out[1] = entry->flags;
    out[2] = (unsigned char)(entry->source & 0xff);
    out[3] = (unsigned char)(entry->source >> 8);
    put_32(out + 4, (uint32_t)entry->bytes.n);
    put_32(out + 8, entry->lines);
    put_32(out + 12, 0);
    put_64(out + 16, entry->seq);
    put_64(out + 24, (uint64_t)entry->time);
}

bool segment_entry_next(struct str *rest, struct segment_entry *ret_entry)
{
    const unsigned char *p = (const unsigned char *)rest->p;
    size_t length;

    if (rest->n < SEGMENT_ENTRY_HEAD)
        return false;
    length = get_32(p + 4);
    if (length > rest->n - SEGMENT_ENTRY_HEAD || p[0] < SEGMENT_SOURCE || p[0] > SEGMENT_LOST)
        return false;
    *ret_entry = (struct segment_entry){
        .kind = (enum segment_kind)p[0],
        .flags = p[1],
        .source = (uint16_t)(p[2] | p[3] << 8),
        .lines = get_32(p + 8),
        .seq = get_64(p + 16),
        .time = (int64_t)get_64(p + 24),
        .bytes = { rest->p + SEGMENT_ENTRY_HEAD, length },
    };
    *rest = str_from_offset(*rest, SEGMENT_ENTRY_HEAD + length);
    return true;
}

bool segment_source_decode(const struct segment_entry *entry, struct segment_source *ret_source)
{
    const struct str bytes = entry->bytes;
    size_t service = str_find_char(bytes, '\0', 0);
    size_t hook = service == STR_NONE ? STR_NONE : str_find_char(bytes, '\0', service + 1);

    if (hook == STR_NONE || hook + 1 != bytes.n || entry->flags >= SEGMENT_STREAMS)
        return false;
    *ret_source = (struct segment_source){
        .service = bytes.p,
        .hook = bytes.p + service + 1,
        .stream = (enum segment_stream)entry->flags,
    };
    return true;
}

/* --- masks ----------------------------------------------------------------------------- */

struct str segment_mask_encode(const struct segment_mask *mask,
                               unsigned char bytes[static SEGMENT_MASK_SIZE])
{
    for (size_t i = 0; i < SEGMENT_MASK_WORDS; i++)
        put_64(bytes + 8 * i, mask->words[i]);
    return str_bytes(bytes, SEGMENT_MASK_SIZE);
}

bool segment_mask_decode(struct str bytes, struct segment_mask *ret_mask)
{
    if (bytes.n != SEGMENT_MASK_SIZE)
        return false;
    for (size_t i = 0; i < SEGMENT_MASK_WORDS; i++)
        ret_mask->words[i] = get_64((const unsigned char *)bytes.p + 8 * i);
    return true;
}

void segment_mask_add(struct segment_mask *mask, const char *service)
{
    uint64_t bit = checksum(service, strlen(service), 0) % MASK_BITS;

    mask->words[bit / 64] |= UINT64_C(1) << (bit % 64);
}

void segment_mask_join(struct segment_mask *mask, const struct segment_mask *other)
{
    for (size_t i = 0; i < SEGMENT_MASK_WORDS; i++)
        mask->words[i] |= other->words[i];
}

bool segment_mask_meets(const struct segment_mask *a, const struct segment_mask *b)
{
    for (size_t i = 0; i < SEGMENT_MASK_WORDS; i++)
        if (a->words[i] & b->words[i])
            return true;
    return false;
}
