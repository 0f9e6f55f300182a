#include "core/data/msgpack.h"

#include <assert.h>
#include <msgpack.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "core/data/value.h"

/* Room made in advance for a list or map: a count is a promise, and nested promises multiply. */
#define EXPECTED_MAX 256
#define TIME_EXT     (-1)
/* First bytes of short texts, and the length up to which it is in the first byte. */
#define TINY_TEXT 0xa0U
#define TINY_MAX  31U
#define TEXT_8    0xd9U
#define NANOS     1000000000U

/* --- encoding ------------------------------------------------------------- */

static int append_packed_bytes(void *data, const char *bytes, size_t n)
{
    buf_add(data, bytes, n);
    return 0;
}

static msgpack_packer packer_for(struct buf *out)
{
    msgpack_packer packer;

    msgpack_packer_init(&packer, out, append_packed_bytes);
    return packer;
}

/* May a list or a map of `count` parts stand here? */
static int check_head(size_t count, unsigned depth, struct err *err)
{
    if (depth >= MSGPACK_DEPTH_MAX)
        return err_set(err, ERR_LIMIT, "encode: nested deeper than the limit of %d",
                       MSGPACK_DEPTH_MAX);
    if (count > UINT32_MAX)
        return err_set(err, ERR_LIMIT, "encode: a part does not fit 32 bits");
    return 0;
}

int msgpack_begin_list(struct buf *out, size_t count, unsigned depth, struct err *err)
{
    msgpack_packer packer = packer_for(out);

    if (check_head(count, depth, err) < 0)
        return -1;
    (void)msgpack_pack_array(&packer, count);
    return 0;
}

int msgpack_begin_map(struct buf *out, size_t count, unsigned depth, struct err *err)
{
    msgpack_packer packer = packer_for(out);

    if (check_head(count, depth, err) < 0)
        return -1;
    (void)msgpack_pack_map(&packer, count);
    return 0;
}

static int encode_list(struct buf *out, const struct value_list *list, unsigned depth,
                       struct err *err)
{
    if (msgpack_begin_list(out, list->count, depth, err) < 0)
        return -1;
    for (size_t i = 0; i < list->count && !out->full; i++)
        if (msgpack_encode_at(out, &list->items[i], depth + 1, err) < 0)
            return -1;
    return 0;
}

static int encode_map(struct buf *out, const struct value_map *map, unsigned depth, struct err *err)
{
    if (msgpack_begin_map(out, map->count, depth, err) < 0)
        return -1;
    for (size_t i = 0; i < map->count && !out->full; i++)
        if (msgpack_encode_at(out, &map->pairs[i].key, depth + 1, err) < 0 ||
            msgpack_encode_at(out, &map->pairs[i].value, depth + 1, err) < 0)
            return -1;
    return 0;
}

/* Documents are mostly keys and words: head and text in one step, where the library makes two
 * calls. */
static void encode_short(struct buf *out, struct str text)
{
    const bool is_tiny = text.n <= TINY_MAX;
    const size_t head = is_tiny ? 1 : 2;
    char *room = buf_reserve(out, head + text.n);

    if (!room)
        return;
    room[0] = (char)(is_tiny ? TINY_TEXT | text.n : TEXT_8);
    if (!is_tiny)
        room[1] = (char)text.n;
    if (text.n > 0)
        memcpy(room + head, text.p, text.n);
    room[head + text.n] = '\0';
    out->n += head + text.n;
}

void msgpack_add_key(struct buf *out, const char *key)
{
    const struct str text = str_from(key);

    assert(text.n <= UINT8_MAX);
    encode_short(out, text);
}

/* Text that is not UTF-8, such as a path, is written as bytes: a reader would refuse the whole
 * document otherwise. */
static void encode_text(msgpack_packer *packer, struct str text)
{
    if (!utf8_is_valid(text))
        (void)msgpack_pack_bin_with_body(packer, text.p, text.n);
    else if (text.n > UINT8_MAX)
        (void)msgpack_pack_str_with_body(packer, text.p, text.n);
    else
        encode_short(packer->data, text);
}

/* Some readers look at the width of an integer and expect all of it. */
static void encode_int(msgpack_packer *packer, const struct value *v)
{
    if (v->flags & VALUE_UNSIGNED)
        (void)msgpack_pack_fix_uint64(packer, (uint64_t)v->i);
    else if (v->flags & VALUE_WIDE)
        (void)msgpack_pack_fix_int64(packer, v->i);
    else
        (void)msgpack_pack_int64(packer, v->i);
}

/* The packer returns the results of append_packed_bytes, which cannot fail. */
static void encode_scalar(msgpack_packer *packer, const struct value *v)
{
    msgpack_timestamp time;

    switch ((enum value_kind)v->kind) {
    case VALUE_NULL: (void)msgpack_pack_nil(packer); break;
    case VALUE_BOOL: (void)(v->b ? msgpack_pack_true(packer) : msgpack_pack_false(packer)); break;
    case VALUE_INT: encode_int(packer, v); break;
    case VALUE_DOUBLE: (void)msgpack_pack_double(packer, v->d); break;
    case VALUE_STR: encode_text(packer, v->s); break;
    case VALUE_BYTES: (void)msgpack_pack_bin_with_body(packer, v->s.p, v->s.n); break;
    case VALUE_TIME:
        time = (msgpack_timestamp){ .tv_sec = v->t.seconds, .tv_nsec = v->t.nanoseconds };
        (void)msgpack_pack_timestamp(packer, &time);
        break;
    case VALUE_LIST:
    case VALUE_MAP:
    case VALUE_OBJECT: break;
    }
}

int msgpack_encode_at(struct buf *out, const struct value *v, unsigned depth, struct err *err)
{
    msgpack_packer packer = packer_for(out);

    if ((v->kind == VALUE_STR || v->kind == VALUE_BYTES) && v->s.n > UINT32_MAX)
        return err_set(err, ERR_LIMIT, "encode: a part does not fit 32 bits");
    if (v->kind == VALUE_OBJECT)
        return err_set(err, ERR_UNSUPPORTED, "encode: an object has no MessagePack form");
    if (v->kind == VALUE_LIST)
        return encode_list(out, v->list, depth, err);
    if (v->kind == VALUE_MAP)
        return encode_map(out, v->map, depth, err);
    encode_scalar(&packer, v);
    return 0;
}

int msgpack_end(const struct buf *out, struct err *err)
{
    if (out->full)
        return err_set(err, ERR_LIMIT, "encode: longer than the limit of %zu bytes", out->max);
    return 0;
}

int msgpack_encode(struct buf *out, const struct value *v, struct err *err)
{
    return msgpack_encode_at(out, v, 0, err) < 0 ? -1 : msgpack_end(out, err);
}

/* --- decoding ------------------------------------------------------------- */

/* The library's own reader allocates what a count promises, before it has seen the bytes, and
 * builds a second tree; so decoding is our own. The first byte of each value says it all:
 *
 *     00..7f  small int    80..8f  small map    90..9f  small list    a0..bf  short text
 *     c0 nil  c2 c3 bool   c4..c6  bytes        c7..c9  ext           ca cb   float
 *     cc..cf  uint 8-64    d0..d3  int 8-64     d4..d8  ext 1-16      d9..db  text
 *     dc dd   list 16 32   de df   map 16 32    e0..ff  small negative int
 */
struct decoder {
    struct arena *arena;
    const unsigned char *bytes;
    size_t n, at;
    size_t memory; /* for the memory limit of the arena */
    struct err *err;
};

static int refuse_msgpack(struct decoder *d, const char *what)
{
    return err_set(d->err, ERR_INVALID, "MessagePack, byte %zu: %s", d->at, what);
}

/* The next `n` bytes, or NULL with an error. */
static const unsigned char *take_packed_bytes(struct decoder *d, uint64_t n)
{
    const unsigned char *p = d->bytes + d->at;

    if (n > d->n - d->at) {
        refuse_msgpack(d, "the bytes end inside a value");
        return NULL;
    }
    d->at += (size_t)n;
    return p;
}

/* A number of `width` bytes, most significant first. */
static int take_packed_number(struct decoder *d, unsigned width, uint64_t *ret)
{
    const unsigned char *p = take_packed_bytes(d, width);
    uint64_t n = 0;

    if (!p)
        return -1;
    for (unsigned i = 0; i < width; i++)
        n = n << 8 | p[i];
    *ret = n;
    return 0;
}

static int decode_uint(struct decoder *d, unsigned width, struct value *ret)
{
    uint64_t n;

    if (take_packed_number(d, width, &n) < 0)
        return -1;
    if (n > INT64_MAX)
        return refuse_msgpack(d, "an integer above 9223372036854775807");
    *ret = value_int((int64_t)n);
    return 0;
}

static int decode_int(struct decoder *d, unsigned width, struct value *ret)
{
    unsigned unused_bits = 64 - 8 * width;
    uint64_t n;

    if (take_packed_number(d, width, &n) < 0)
        return -1;
    /* Shift up and back down, which fills the upper bits with the sign. */
    *ret = value_int((int64_t)(n << unused_bits) >> unused_bits);
    return 0;
}

static int decode_float(struct decoder *d, unsigned width, struct value *ret)
{
    uint64_t n;
    double wide;
    float narrow;

    if (take_packed_number(d, width, &n) < 0)
        return -1;
    if (width == sizeof(narrow)) {
        uint32_t bits = (uint32_t)n;

        memcpy(&narrow, &bits, sizeof(narrow));
        wide = (double)narrow;
    } else {
        memcpy(&wide, &n, sizeof(wide));
    }
    *ret = value_double(wide);
    return 0;
}

static int decode_text(struct decoder *d, uint64_t n, bool is_text, struct value *ret)
{
    const unsigned char *p = take_packed_bytes(d, n);
    struct str s;

    if (!p)
        return -1;
    s = (struct str){ (const char *)p, (size_t)n };
    if (is_text && !utf8_is_valid(s))
        return refuse_msgpack(d, "text that is not UTF-8");
    s = arena_str(d->arena, s);
    *ret = is_text ? value_str(s) : value_bytes(s);
    return 0;
}

/* Type byte, then: 4 bytes of seconds; or 30 bits of nanoseconds and 34 of seconds; or 4 bytes of
 * nanoseconds and 8 of signed seconds. */
static int decode_ext(struct decoder *d, uint64_t size, struct value *ret)
{
    uint64_t type, head, seconds, nanoseconds = 0;

    if (take_packed_number(d, 1, &type) < 0)
        return -1;
    if ((int8_t)(uint8_t)type != TIME_EXT)
        return refuse_msgpack(d, "an extension that is not a timestamp");
    if (size != 4 && size != 8 && size != 12)
        return refuse_msgpack(d, "a timestamp of an unknown size");
    if (take_packed_number(d, size == 8 ? 8 : 4, &head) < 0)
        return -1;
    seconds = head;
    if (size == 8) {
        nanoseconds = head >> 34;
        seconds = head & ((UINT64_C(1) << 34) - 1);
    } else if (size == 12) {
        nanoseconds = head;
        if (take_packed_number(d, 8, &seconds) < 0)
            return -1;
    }
    if (nanoseconds >= NANOS)
        return refuse_msgpack(d, "a timestamp with a second or more of nanoseconds");
    *ret = value_time((int64_t)seconds, (uint32_t)nanoseconds);
    return 0;
}

static int decode_value(struct decoder *d, unsigned depth, struct value *ret);

/* Can `count` items of at least `least` bytes each still come? */
static int check_packed_count(struct decoder *d, uint64_t count, unsigned least, unsigned depth)
{
    if (depth >= MSGPACK_DEPTH_MAX)
        return err_set(d->err, ERR_LIMIT,
                       "MessagePack, byte %zu: nested deeper than the limit of %d", d->at,
                       MSGPACK_DEPTH_MAX);
    if (count > (d->n - d->at) / least)
        return refuse_msgpack(d, "a count that is larger than the remaining bytes");
    return 0;
}

static size_t get_initial_capacity(uint64_t count)
{
    return count < EXPECTED_MAX ? (size_t)count : EXPECTED_MAX;
}

static int decode_list(struct decoder *d, uint64_t count, unsigned depth, struct value *ret)
{
    struct value_list *list;
    struct value item;

    if (check_packed_count(d, count, 1, depth) < 0)
        return -1;
    list = value_list_new(d->arena, get_initial_capacity(count));
    for (uint64_t i = 0; i < count; i++) {
        if (decode_value(d, depth + 1, &item) < 0)
            return -1;
        value_list_push(d->arena, list, item);
    }
    *ret = value_list(list);
    return 0;
}

static int decode_key(struct decoder *d, unsigned depth, struct value *ret)
{
    if (decode_value(d, depth, ret) < 0)
        return -1;
    if (ret->kind == VALUE_LIST || ret->kind == VALUE_MAP)
        return refuse_msgpack(d, "a map key that is a list or a map");
    if (ret->kind == VALUE_DOUBLE && ret->d != ret->d)
        return refuse_msgpack(d, "a map key that is not a number");
    return 0;
}

static int decode_map(struct decoder *d, uint64_t count, unsigned depth, struct value *ret)
{
    struct value_map *map;
    struct value key, value;

    if (check_packed_count(d, count, 2, depth) < 0)
        return -1;
    map = value_map_new(d->arena, get_initial_capacity(count));
    for (uint64_t i = 0; i < count; i++) {
        if (decode_key(d, depth + 1, &key) < 0)
            return -1;
        if (value_map_find_pair(map, &key))
            return refuse_msgpack(d, "a duplicate map key");
        if (decode_value(d, depth + 1, &value) < 0)
            return -1;
        value_map_append(d->arena, map, key, value);
    }
    *ret = value_map(map);
    return 0;
}

enum form { FORM_TEXT, FORM_BYTES, FORM_EXT, FORM_LIST, FORM_MAP };

/* Forms whose length follows in a number of `width` bytes. */
static int decode_sized(struct decoder *d, enum form form, unsigned width, unsigned depth,
                        struct value *ret)
{
    uint64_t n;

    if (take_packed_number(d, width, &n) < 0)
        return -1;
    switch (form) {
    case FORM_TEXT: return decode_text(d, n, true, ret);
    case FORM_BYTES: return decode_text(d, n, false, ret);
    case FORM_EXT: return decode_ext(d, n, ret);
    case FORM_LIST: return decode_list(d, n, depth, ret);
    case FORM_MAP: return decode_map(d, n, depth, ret);
    }
    return -1;
}

/* First bytes from c0 to df. */
static int decode_marked(struct decoder *d, unsigned first, unsigned depth, struct value *ret)
{
    switch (first) {
    case 0xc0: *ret = value_null(); return 0;
    case 0xc2: *ret = value_bool(false); return 0;
    case 0xc3: *ret = value_bool(true); return 0;
    case 0xc4:
    case 0xc5:
    case 0xc6: return decode_sized(d, FORM_BYTES, 1U << (first - 0xc4), depth, ret);
    case 0xc7:
    case 0xc8:
    case 0xc9: return decode_sized(d, FORM_EXT, 1U << (first - 0xc7), depth, ret);
    case 0xca:
    case 0xcb: return decode_float(d, 4U << (first - 0xca), ret);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf: return decode_uint(d, 1U << (first - 0xcc), ret);
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3: return decode_int(d, 1U << (first - 0xd0), ret);
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8: return decode_ext(d, 1U << (first - 0xd4), ret);
    case 0xd9:
    case 0xda:
    case 0xdb: return decode_sized(d, FORM_TEXT, 1U << (first - 0xd9), depth, ret);
    case 0xdc:
    case 0xdd: return decode_sized(d, FORM_LIST, 2U << (first - 0xdc), depth, ret);
    case 0xde:
    case 0xdf: return decode_sized(d, FORM_MAP, 2U << (first - 0xde), depth, ret);
    default: return refuse_msgpack(d, "the byte c1, which is never used");
    }
}

static int decode_value(struct decoder *d, unsigned depth, struct value *ret)
{
    const unsigned char *p = take_packed_bytes(d, 1);
    unsigned first;

    if (!p)
        return -1;
    if (d->arena->used > d->memory)
        return err_set(d->err, ERR_LIMIT, "MessagePack, byte %zu: too many values for its size",
                       d->at);
    first = *p;
    if (first < 0x80) {
        *ret = value_int((int64_t)first);
        return 0;
    }
    if (first < 0x90)
        return decode_map(d, first & 0x0f, depth, ret);
    if (first < 0xa0)
        return decode_list(d, first & 0x0f, depth, ret);
    if (first < 0xc0)
        return decode_text(d, first & 0x1f, true, ret);
    if (first < 0xe0)
        return decode_marked(d, first, depth, ret);
    *ret = value_int((int64_t)first - 0x100);
    return 0;
}

static int decode_one(struct arena *arena, struct str bytes, bool whole, struct value *ret,
                      struct err *err)
{
    struct decoder d = {
        .arena = arena,
        .bytes = (const unsigned char *)(bytes.p ? bytes.p : ""),
        .n = bytes.n,
        .memory = arena->used + MSGPACK_MEMORY_BASE + MSGPACK_MEMORY_EACH * bytes.n,
        .err = err,
    };
    struct value v;

    if (bytes.n > MSGPACK_SIZE_MAX)
        return err_set(err, ERR_LIMIT, "MessagePack of %zu bytes is larger than the limit of %zu",
                       bytes.n, MSGPACK_SIZE_MAX);
    if (decode_value(&d, 0, &v) < 0)
        return -1;
    if (whole && d.at < d.n)
        return refuse_msgpack(&d, "more bytes after the end of the value");
    *ret = v;
    return 0;
}

int msgpack_decode(struct arena *arena, struct str bytes, struct value *ret, struct err *err)
{
    return decode_one(arena, bytes, true, ret, err);
}

int msgpack_decode_front(struct arena *arena, struct str bytes, struct value *ret, struct err *err)
{
    return decode_one(arena, bytes, false, ret, err);
}
