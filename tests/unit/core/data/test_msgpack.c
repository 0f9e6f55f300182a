#include "test.h"

#include <math.h>
#include <msgpack.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/msgpack.h"
#include "core/data/value.h"

/* Bytes from "92 01 c0". */
static struct str from_hex(struct arena *arena, const char *hex)
{
    char *bytes = arena_alloc(arena, strlen(hex) / 2 + 1);
    size_t n = 0;

    for (; *hex; hex += hex[2] ? 3 : 2) {
        const char byte[] = { hex[0], hex[1], '\0' };

        bytes[n++] = (char)strtoul(byte, NULL, 16);
    }
    return (struct str){ bytes, n };
}

static const char *to_hex(struct arena *arena, struct str bytes)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < bytes.n; i++)
        buf_printf(&out, "%s%02x", i > 0 ? " " : "", (unsigned)(unsigned char)bytes.p[i]);
    return arena_strdup(arena, buf_text(&out));
}

static struct str encoded(struct arena *arena, struct value v)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err err = { 0 };

    CHECK_INT(msgpack_encode(&out, &v, &err), 0);
    return buf_copy(&out, arena);
}

static const char *as_json(struct arena *arena, const struct value *v)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    CHECK_INT(json_print(&out, v, JSON_STYLE_NAN, &err), 0);
    return arena_strdup(arena, buf_text(&out));
}

/* clang-format off */
static const struct {
    const char *hex, *json;
    bool smallest; /* the form that the encoder chooses */
} forms[] = {
    { "c0", "null", true },
    { "c2", "false", true },
    { "c3", "true", true },
    { "00", "0", true },
    { "7f", "127", true },
    { "cc 80", "128", true },
    { "cc 7f", "127", false },
    { "cd 01 00", "256", true },
    { "ce 00 01 00 00", "65536", true },
    { "cf 7f ff ff ff ff ff ff ff", "9223372036854775807", true },
    { "ff", "-1", true },
    { "e0", "-32", true },
    { "d0 df", "-33", true },
    { "d0 01", "1", false },
    { "d1 ff 00", "-256", true },
    { "d2 ff fe ff ff", "-65537", true },
    { "d3 80 00 00 00 00 00 00 00", "-9223372036854775808", true },
    { "ca 3f c0 00 00", "1.5", false },
    { "cb 3f f8 00 00 00 00 00 00", "1.5", true },
    { "a0", "\"\"", true },
    { "a2 c3 a4", "\"\u00e4\"", true },
    { "d9 01 61", "\"a\"", false },
    { "da 00 01 61", "\"a\"", false },
    { "db 00 00 00 01 61", "\"a\"", false },
    { "c4 01 ff", "\"/w==\"", true },
    { "c5 00 01 ff", "\"/w==\"", false },
    { "c6 00 00 00 01 ff", "\"/w==\"", false },
    { "90", "[]", true },
    { "92 01 a1 61", "[1,\"a\"]", true },
    { "dc 00 01 01", "[1]", false },
    { "dd 00 00 00 01 01", "[1]", false },
    { "80", "{}", true },
    { "82 a1 62 01 05 c0", "{\"b\":1,\"5\":null}", true },
    { "de 00 01 01 02", "{\"1\":2}", false },
    { "df 00 00 00 01 01 02", "{\"1\":2}", false },
    { "d6 ff 00 00 00 01", "\"1970-01-01T00:00:01Z\"", true },
    { "c7 04 ff 00 00 00 01", "\"1970-01-01T00:00:01Z\"", false },
    { "d7 ff 3b 9a ca 00 00 00 00 01", "\"1970-01-01T00:00:01.25Z\"", true },
    { "c7 0c ff 00 00 00 01 ff ff ff ff ff ff ff ff", "\"1969-12-31T23:59:59.000000001Z\"", true },
};

static const struct {
    const char *hex, *text;
} wrong[] = {
    { "", "byte 0: the bytes end inside a value" },
    { "c1", "byte 1: the byte c1, which is never used" },
    { "cd 01", "byte 1: the bytes end inside a value" },
    { "a5 61", "byte 1: the bytes end inside a value" },
    { "db ff ff ff ff 61", "byte 5: the bytes end inside a value" },
    { "a1 ff", "byte 2: text that is not UTF-8" },
    { "cf 80 00 00 00 00 00 00 00", "byte 9: an integer above 9223372036854775807" },
    { "dd ff ff ff ff", "byte 5: a count that is larger than the remaining bytes" },
    { "df 00 00 00 02 01 01 02", "byte 5: a count that is larger than the remaining bytes" },
    { "82 01 01 01 02", "byte 4: a duplicate map key" },
    { "82 01 01 c3 02", "byte 4: a duplicate map key" },
    { "81 90 01", "byte 2: a map key that is a list or a map" },
    { "81 cb 7f f8 00 00 00 00 00 00 01", "byte 10: a map key that is not a number" },
    { "01 02", "byte 1: more bytes after the end of the value" },
    { "d4 01 00", "byte 2: an extension that is not a timestamp" },
    { "d5 ff 00 00", "byte 2: a timestamp of an unknown size" },
    { "c7 ff ff 00", "byte 3: a timestamp of an unknown size" },
    { "d7 ff ff ff ff ff 00 00 00 01", "byte 10: a timestamp with a second or more" },
};
/* clang-format on */

TEST(every_form_is_read)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct err err = { 0 };
        struct value v = value_null();

        CHECK_INT(msgpack_decode(&arena, from_hex(&arena, forms[i].hex), &v, &err), 0);
        CHECK_STR(err.text, "");
        CHECK_STR(as_json(&arena, &v), forms[i].json);
    }
}

TEST(the_smallest_form_is_written)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct err err = { 0 };
        struct value v = value_null();

        CHECK_INT(msgpack_decode(&arena, from_hex(&arena, forms[i].hex), &v, &err), 0);
        if (forms[i].smallest)
            CHECK_STR(to_hex(&arena, encoded(&arena, v)), forms[i].hex);
        else
            CHECK(encoded(&arena, v).n != from_hex(&arena, forms[i].hex).n ||
                  strcmp(to_hex(&arena, encoded(&arena, v)), forms[i].hex) != 0);
    }
}

TEST(mistakes_are_reported_with_their_offset)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err err = { 0 };
        struct value v;

        CHECK_INT(msgpack_decode(&arena, from_hex(&arena, wrong[i].hex), &v, &err), -1);
        CHECK_HAS(err.text, wrong[i].text);
    }
}

TEST(every_truncation_is_an_error)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str bytes =
        from_hex(&arena, "83 a1 61 93 01 cd 01 00 c4 02 ff fe a1 62 d7 ff 00 00 00 00 00 "
                         "00 00 01 a1 63 cb 3f f8 00 00 00 00 00 00");
    struct err err;
    struct value v;

    CHECK_INT(msgpack_decode(&arena, bytes, &v, &err), 0);
    for (size_t n = 0; n < bytes.n; n++)
        CHECK_INT(msgpack_decode(&arena, str_slice(bytes, 0, n), &v, &err), -1);
}

TEST(depth_is_limited_both_ways)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct value v, outer;
    struct err err;

    buf_fill(&bytes, '\x91', MSGPACK_DEPTH_MAX - 1);
    buf_add_char(&bytes, '\x90');
    CHECK_INT(msgpack_decode(&arena, buf_view(&bytes), &v, &err), 0);
    CHECK(str_eq(encoded(&arena, v), buf_view(&bytes)));

    outer = value_list(value_list_new(&arena, 1));
    value_list_push(&arena, outer.list, v);
    CHECK_INT(msgpack_encode(&out, &outer, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);

    buf_clear(&bytes);
    buf_fill(&bytes, '\x91', 100000);
    CHECK_INT(msgpack_decode(&arena, buf_view(&bytes), &v, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_HAS(err.text, "nested deeper than the limit of 128");
}

TEST(counts_that_promise_too_much_allocate_little)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct value v;
    struct err err;

    /* A hundred lists in lists, each of which says that it holds all the rest. */
    for (int i = 0; i < 100; i++)
        buf_add(&bytes, "\xdd\x00\x00\x10\x00", 5);
    buf_fill(&bytes, '\x01', 5000);
    CHECK_INT(msgpack_decode(&arena, buf_view(&bytes), &v, &err), -1);
    CHECK(arena.used < (size_t)4 << 20);
}

/* Empty maps: each byte of them is a value and a table. */
TEST(few_bytes_with_very_many_values_take_limited_memory)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    const size_t count = 900000;
    struct value v;
    struct err err;

    CHECK_INT(msgpack_begin_list(&bytes, count, 0, &err), 0);
    for (size_t i = 0; i < count; i++)
        buf_add_char(&bytes, (char)0x80);
    CHECK_INT(msgpack_decode(&arena, buf_view(&bytes), &v, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_HAS(err.text, "too many values for its size");
    CHECK(arena.used < 4 * (MSGPACK_MEMORY_BASE + MSGPACK_MEMORY_EACH * bytes.n));
}

TEST(a_full_buffer_is_an_error)
{
    AUTO_BUF struct buf out = BUF_INIT(3);
    struct value v = value_text("four");
    struct err err;

    CHECK_INT(msgpack_encode(&out, &v, &err), -1);
    CHECK_STR(err.text, "encode: longer than the limit of 3 bytes");
}

TEST(a_text_that_is_not_utf8_goes_as_bytes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str bytes = encoded(&arena, value_text("caf\xe9"));
    struct value back;
    struct err err = { 0 };

    CHECK_INT(msgpack_decode(&arena, bytes, &back, &err), 0);
    CHECK_STR(err.text, "");
    CHECK_INT(back.kind, VALUE_BYTES);
    CHECK(str_eq(back.s, STR("caf\xe9")));
}

static struct value random_value(struct arena *arena, unsigned *seed, int depth)
{
    static const char *const texts[] = { "", "a", "\xc3\xa4\xf0\x9f\x98\x80",
                                         "a text of more than thirty-one bytes, for its own form" };
    struct value_list *list = value_list_new(arena, 0);
    struct value_map *map = value_map_new(arena, 0);

    switch (rand_r(seed) % (depth > 0 ? 9 : 7)) {
    case 0: return value_null();
    case 1: return value_bool(rand_r(seed) & 1);
    case 2: return value_int((((int64_t)rand_r(seed) << 32) - rand_r(seed)) >> rand_r(seed) % 64);
    case 3: return value_double(ldexp((double)rand_r(seed), rand_r(seed) % 2000 - 1030));
    case 4: return value_text(texts[(size_t)rand_r(seed) % ARRAY_LEN(texts)]);
    case 5: return value_bytes(str_from(texts[(size_t)rand_r(seed) % ARRAY_LEN(texts)]));
    case 6:
        return value_time((int64_t)rand_r(seed) << rand_r(seed) % 20,
                          (uint32_t)rand_r(seed) % 1000000000U * (rand_r(seed) & 1));
    case 7:
        for (int n = rand_r(seed) % 20; n > 0; n--)
            value_list_push(arena, list, random_value(arena, seed, depth - 1));
        return value_list(list);
    default:
        for (int n = rand_r(seed) % 20; n > 0; n--)
            value_map_set(arena, map, value_int(n), random_value(arena, seed, depth - 1));
        return value_map(map);
    }
}

/* The library reads what we write, and finds the same number of bytes in it. */
static bool library_reads(struct str bytes)
{
    msgpack_zone *zone = msgpack_zone_new(4096);
    msgpack_object object;
    size_t at = 0;
    msgpack_unpack_return result = msgpack_unpack(bytes.p, bytes.n, &at, zone, &object);

    msgpack_zone_free(zone);
    return result == MSGPACK_UNPACK_SUCCESS && at == bytes.n;
}

TEST(written_values_read_back_unchanged)
{
    for (unsigned seed = 1; seed <= 300; seed++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        unsigned state = seed;
        struct value v = random_value(&arena, &state, 4), back;
        struct str bytes = encoded(&arena, v);
        struct err err = { 0 };

        CHECK_INT(msgpack_decode(&arena, bytes, &back, &err), 0);
        CHECK_STR(err.text, "");
        CHECK(value_equal(&v, &back));
        CHECK(str_eq(bytes, encoded(&arena, back)));
        CHECK(library_reads(bytes));
    }
}
