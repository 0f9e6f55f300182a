#include "logs/segment.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "base/checksum.h"

const char segment_block_magic[SEGMENT_MAGIC_SIZE] = { '\x89', 'k',  'l',    'b',
                                                       '\r',   '\n', '\x1a', '1' };
static const char header_magic[SEGMENT_MAGIC_SIZE] = { '\x89', 'k',  'l',    's',
                                                       '\r',   '\n', '\x1a', '1' };

enum {
    HEADER_COPY = SEGMENT_HEADER_SIZE / 2,
    HEADER_CHECKED = HEADER_COPY - 8, /* bytes before its check */
    HEAD_CHECK_AT = 8,
    HEAD_CHECKED_AT = 16,
    MASK_BITS = SEGMENT_MASK_WORDS * 64,
};

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

void segment_header_encode(const struct segment_header *header,
                           unsigned char out[static SEGMENT_HEADER_SIZE])
{
    memset(out, 0, HEADER_COPY);
    memcpy(out, header_magic, SEGMENT_MAGIC_SIZE);
    put_64(out + 8, header->salt);
    put_64(out + 16, header->first);
    put_64(out + 24, (uint64_t)header->created);
    put_64(out + HEADER_CHECKED, checksum(out, HEADER_CHECKED, header->salt));
    memcpy(out + HEADER_COPY, out, HEADER_COPY);
}

static bool decode_copy(const unsigned char *bytes, struct segment_header *ret_header)
{
    uint64_t salt = get_64(bytes + 8);

    if (memcmp(bytes, header_magic, SEGMENT_MAGIC_SIZE) != 0)
        return false;
    if (get_64(bytes + HEADER_CHECKED) != checksum(bytes, HEADER_CHECKED, salt))
        return false;
    *ret_header = (struct segment_header){
        .salt = salt,
        .first = get_64(bytes + 16),
        .created = (int64_t)get_64(bytes + 24),
    };
    return true;
}

bool segment_header_decode(const unsigned char *bytes, struct segment_header *ret_header)
{
    return decode_copy(bytes, ret_header) || decode_copy(bytes + HEADER_COPY, ret_header);
}

void segment_block_encode(const struct segment_block *block, uint64_t salt, const void *body,
                          unsigned char out[static SEGMENT_BLOCK_HEAD])
{
    assert(block->length <= SEGMENT_BLOCK_MAX);
    memcpy(out, segment_block_magic, SEGMENT_MAGIC_SIZE);
    put_64(out + 16, checksum(body, block->length, salt));
    put_32(out + 24, block->length);
    put_32(out + 28, block->lines);
    put_64(out + 32, block->first);
    put_64(out + 40, block->end);
    put_64(out + 48, (uint64_t)block->time_min);
    put_64(out + 56, (uint64_t)block->time_max);
    for (size_t i = 0; i < SEGMENT_MASK_WORDS; i++)
        put_64(out + 64 + 8 * i, block->services.words[i]);
    put_64(out + HEAD_CHECK_AT,
           checksum(out + HEAD_CHECKED_AT, SEGMENT_BLOCK_HEAD - HEAD_CHECKED_AT, salt));
}

bool segment_block_decode(const unsigned char *bytes, uint64_t salt,
                          struct segment_block *ret_block)
{
    struct segment_block block;

    if (memcmp(bytes, segment_block_magic, SEGMENT_MAGIC_SIZE) != 0)
        return false;
    if (get_64(bytes + HEAD_CHECK_AT) !=
        checksum(bytes + HEAD_CHECKED_AT, SEGMENT_BLOCK_HEAD - HEAD_CHECKED_AT, salt))
        return false;
    block = (struct segment_block){
        .body_check = get_64(bytes + 16),
        .length = get_32(bytes + 24),
        .lines = get_32(bytes + 28),
        .first = get_64(bytes + 32),
        .end = get_64(bytes + 40),
        .time_min = (int64_t)get_64(bytes + 48),
        .time_max = (int64_t)get_64(bytes + 56),
    };
    for (size_t i = 0; i < SEGMENT_MASK_WORDS; i++)
        block.services.words[i] = get_64(bytes + 64 + 8 * i);
    if (block.length > SEGMENT_BLOCK_MAX || block.first > block.end)
        return false;
    *ret_block = block;
    return true;
}

bool segment_block_is_whole(const struct segment_block *block, uint64_t salt, const void *body)
{
    return checksum(body, block->length, salt) == block->body_check;
}

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
