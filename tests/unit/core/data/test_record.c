#include "core/data/record.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/hex.h"
#include "core/data/frame.h"
#include "core/data/json.h"
#include "core/data/msgpack.h"
#include "test.h"

#define ROOM 65536

enum colour { RED, GREEN, COLOURS };
static const char *const colours[COLOURS] = { [RED] = "red", [GREEN] = "green" };

struct part {
    const char *name;
    uint16_t size;
};

struct thing {
    const char *name, *note;
    bool flag, has_code;
    int code;
    uint32_t count;
    int64_t wait; /* nanoseconds, stored as seconds */
    double weight;
    struct str blob;
    struct value_time at;
    enum colour colour;
    struct param_strs words;
    struct value extra, rest;
    struct part main;
    VEC(struct part) parts;
    VEC(struct part) by_name;
};

static int check_part(const void *record, struct err *err)
{
    const struct part *part = record;

    return part->size == 13 ? err_set(err, ERR_INVALID, "13 is bad luck") : 0;
}

/* clang-format off */
#define ARGS struct part
static const struct record_field part_fields[] = {
    RECORD("name", TEXT, ARGS, name, RECORD_REQUIRED),
    RECORD("size", INT,  ARGS, size, 0, .fallback = 7),
    { 0 },
};
#undef ARGS
static const struct record_type part_type = RECORD_TYPE("part", struct part, part_fields, 0, .check = check_part);

#define ARGS struct thing
static const struct record_field thing_fields[] = {
    RECORD("name",    TEXT,   ARGS, name,    RECORD_REQUIRED),
    RECORD("note",    TEXT,   ARGS, note,    RECORD_OMIT),
    RECORD("flag",    BOOL,   ARGS, flag,    RECORD_OMIT),
    RECORD("code",    INT,    ARGS, code,    0, RECORD_GIVEN(ARGS, has_code)),
    RECORD("count",   INT,    ARGS, count,   RECORD_NIL, RECORD_RANGE(0, 1000)),
    RECORD("wait",    INT,    ARGS, wait,    RECORD_OMIT, .unit = 1000000000),
    RECORD("weight",  DOUBLE, ARGS, weight,  RECORD_OMIT),
    RECORD("blob",    BYTES,  ARGS, blob,    RECORD_OMIT),
    RECORD("at",      TIME,   ARGS, at,      RECORD_OMIT),
    RECORD("colour",  WORD,   ARGS, colour,  RECORD_NUMBERED, RECORD_WORDS(colours)),
    RECORD("words",   TEXTS,  ARGS, words,   RECORD_OMIT),
    RECORD("extra",   ANY,    ARGS, extra,   RECORD_OMIT),
    RECORD("main",    STRUCT, ARGS, main,    RECORD_REQUIRED, .since = 2, .inner = &part_type),
    RECORD("parts",   LIST,   ARGS, parts,   RECORD_OMIT, .inner = &part_type),
    RECORD("by_name", NAMED,  ARGS, by_name, RECORD_OMIT, .inner = &part_type),
    RECORD("",        REST,   ARGS, rest,    0),
    { 0 },
};
#undef ARGS
/* clang-format on */
static const struct record_type thing_type = RECORD_TYPE("thing", struct thing, thing_fields, 0);

static int read_json(struct arena *arena, unsigned version, const char *json, struct thing *ret,
                     struct err *err)
{
    struct value v;

    CHECK_INT(json_decode(arena, str_from(json), &v, err), 0);
    return record_read(arena, &thing_type, version, &v, ret, err);
}

static const char *print_json(struct arena *arena, const struct thing *thing)
{
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    const struct value v = record_value(arena, &thing_type, thing);
    struct err err;

    CHECK_INT(json_print(&out, &v, JSON_STYLE_COMPACT, &err), 0);
    return buf_copy(&out, arena).p;
}

TEST(a_struct_comes_back_from_its_bytes_as_it_was)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    static const char *const words[] = { "a", "b" };
    struct thing sent = { .name = "n",
                          .note = "bytes \xff that are no text",
                          .flag = true,
                          .has_code = true,
                          .code = -3,
                          .count = 9,
                          .wait = 5000000000,
                          .weight = 1.5,
                          .blob = STR("a\0b"),
                          .at = { 77, 5 },
                          .colour = GREEN,
                          .words = { 2, words },
                          .extra = value_int(4),
                          .main = { "m", 1 } };
    struct thing got;
    struct err err;

    VEC_PUSH_IN(&arena, &sent.parts, ((struct part){ "p", 2 }));
    VEC_PUSH_IN(&arena, &sent.parts, ((struct part){ "q", 3 }));
    VEC_PUSH_IN(&arena, &sent.by_name, ((struct part){ "r", 4 }));
    CHECK_INT(record_encode(&out, &thing_type, &sent, &err), 0);
    CHECK_INT(record_decode(&arena, &thing_type, 2, buf_view(&out), &got, &err), 0);
    CHECK_STR(got.name, "n");
    CHECK_STR(got.note, sent.note);
    CHECK(got.flag && got.has_code && got.code == -3 && got.count == 9);
    CHECK_INT(got.wait, sent.wait);
    CHECK(got.weight == 1.5 && str_eq(got.blob, sent.blob));
    CHECK(got.at.seconds == 77 && got.at.nanoseconds == 5 && got.colour == GREEN);
    CHECK(got.words.n == 2 && strcmp(got.words.p[1], "b") == 0);
    CHECK(value_is(&got.extra, VALUE_INT) && got.extra.i == 4);
    CHECK(got.main.size == 1 && got.parts.n == 2 && got.parts.p[1].size == 3);
    CHECK(got.by_name.n == 1 && got.by_name.p[0].size == 4);
    CHECK_STR(got.by_name.p[0].name, "r");
}

TEST(missing_and_nil_both_mean_the_default)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    static const char *const forms[] = {
        "{\"name\":\"n\",\"main\":{\"name\":\"m\"}}",
        "{\"name\":\"n\",\"code\":null,\"count\":null,\"note\":null,\"blob\":null,\"words\":null,"
        "\"colour\":null,\"main\":{\"name\":\"m\",\"size\":null}}",
    };

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct thing got;
        struct err err;

        CHECK_INT(read_json(&arena, 2, forms[i], &got, &err), 0);
        CHECK(!got.note && !got.has_code && got.code == 0 && got.count == 0 && !got.blob.p);
        CHECK_INT(got.main.size, 7);
        CHECK_STR(print_json(&arena, &got),
                  "{\"name\":\"n\",\"code\":null,\"count\":null,\"colour\":\"red\","
                  "\"main\":{\"name\":\"m\",\"size\":7}}");
    }
}

static const struct {
    const char *json, *error;
} wrong[] = {
    { "{}", "'name' is missing" },
    { "{\"name\":null}", "'name' is missing" },
    { "{\"name\":\"n\"}", "'main' is missing" },
    { "[]", "a list, expected a map" },
    { "{\"name\":4}", "'name' is an integer, expected a text" },
    { "{\"name\":\"a\\u0000b\"}", "'name' is a text with a NUL inside" },
    { "{\"name\":\"n\",\"flag\":1}", "'flag' is an integer, expected a boolean" },
    { "{\"name\":\"n\",\"code\":1.5}", "'code' is a number, expected an integer" },
    { "{\"name\":\"n\",\"code\":2147483648}", "'code' is 2147483648, which is out of range" },
    { "{\"name\":\"n\",\"count\":-1}", "'count' is -1, which is out of range" },
    { "{\"name\":\"n\",\"count\":1001}", "'count' is 1001, which is out of range" },
    { "{\"name\":\"n\",\"wait\":9223372037}", "'wait' is 9223372037, which is out of range" },
    { "{\"name\":\"n\",\"at\":1}", "'at' is an integer, expected a time" },
    { "{\"name\":\"n\",\"colour\":\"blue\"}", "'colour' has the unknown value 'blue'" },
    { "{\"name\":\"n\",\"colour\":2}", "'colour' is an integer, expected a word" },
    { "{\"name\":\"n\",\"words\":[\"a\",1]}", "item 2: 'words' is an integer, expected a text" },
    { "{\"name\":\"n\",\"main\":{}}", "'main': 'name' is missing" },
    { "{\"name\":\"n\",\"main\":{\"name\":\"m\",\"size\":13}}", "'main': 13 is bad luck" },
    { "{\"name\":\"n\",\"parts\":[{\"name\":\"p\"},{\"name\":true}]}",
      "item 2 of 'parts': 'name' is a boolean, expected a text" },
    { "{\"name\":\"n\",\"by_name\":{\"r\":{\"size\":70000}}}",
      "'r' of 'by_name': 'size' is 70000, which is out of range" },
};

TEST(mistakes_are_reported_with_the_name_of_their_key)
{
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        struct thing got;
        struct err err;

        CHECK_INT(read_json(&arena, 2, wrong[i].json, &got, &err), -1);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_STR(err.text, wrong[i].error);
    }
}

TEST(a_record_of_a_version_before_a_field_does_not_need_it)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct thing got;
    struct err err;

    CHECK_INT(read_json(&arena, 1, "{\"name\":\"n\",\"colour\":1}", &got, &err), 0);
    CHECK_INT(got.colour, GREEN);
}

TEST(unknown_keys_are_kept_and_written_again)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct thing got;
    struct err err;

    CHECK_INT(
        read_json(&arena, 1, "{\"name\":\"n\",\"later\":[1],\"colour\":\"green\"}", &got, &err), 0);
    CHECK(strstr(print_json(&arena, &got), "\"later\":[1]") != NULL);
}

TEST(unknown_keys_are_refused_where_the_type_says_so)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_type strict =
        RECORD_TYPE("part", struct part, part_fields, RECORD_REFUSE_UNKNOWN);
    struct part part;
    struct value v;
    struct err err;

    CHECK_INT(json_decode(&arena, STR("{\"name\":\"n\",\"sise\":1}"), &v, &err), 0);
    CHECK_INT(record_read(&arena, &part_type, 0, &v, &part, &err), 0);
    CHECK_INT(record_read(&arena, &strict, 0, &v, &part, &err), -1);
    CHECK_STR(err.text, "'sise' is not a key of 'part'");
}

TEST(a_tag_selects_the_type_of_a_record)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct record_type a = RECORD_TYPE("a", struct part, part_fields, RECORD_TAGGED);
    const struct record_type b =
        RECORD_TYPE("b", struct part, part_fields, RECORD_TAGGED | RECORD_REFUSE_UNKNOWN);
    const struct record_type *const types[] = { &a, &b };
    const struct part part = { "p", 1 };
    const struct value v = record_value(&arena, &b, &part);
    struct part got;
    size_t which = 9;
    struct err err;

    CHECK(record_find_type(&v, types, 2, &which));
    CHECK_INT(which, 1);
    CHECK_INT(record_read(&arena, types[which], 0, &v, &got, &err), 0);
    CHECK(!record_find_type(&v, types, 1, &which));
}

TEST(a_table_that_is_not_sound_is_found)
{
    const struct record_field twice[] = { part_fields[0], part_fields[0], { 0 } };
    const struct record_field outside[] = { { .name = "x", .offset = 99, .size = 8 }, { 0 } };
    const struct record_type bad[] = {
        RECORD_TYPE("bad", struct part, twice, 0),
        RECORD_TYPE("bad", struct part, outside, 0),
    };
    struct err err;

    CHECK_INT(record_check(&thing_type, &err), 0);
    CHECK_INT(record_check(&bad[0], &err), -1);
    CHECK_STR(err.text, "bad: 'name' is listed twice");
    CHECK_INT(record_check(&bad[1], &err), -1);
    CHECK_STR(err.text, "bad: 'x' is not in the struct");
}

/* --- the bytes of the fleet ----------------------------------------------------------- */

struct event {
    const char *id, *tag;
    struct value data;
    struct value_time ts;
    int64_t v;
    const char *origin;
    int64_t depth;
};

struct request {
    int64_t v;
    const char *jid, *module, *id;
    struct value args;
    uint64_t epoch;
    int64_t rdepth, timeout;
};

/* clang-format off */
#define ARGS struct event
static const struct record_field event_fields[] = {
    RECORD("id",     TEXT, ARGS, id,     0, .fallback_text = ""),
    RECORD("tag",    TEXT, ARGS, tag,    0, .fallback_text = ""),
    RECORD("data",   MAP,  ARGS, data,   RECORD_OMIT),
    RECORD("ts",     TIME, ARGS, ts,     0, .fallback = -62135596800),
    RECORD("v",      INT,  ARGS, v,      RECORD_OMIT),
    RECORD("origin", TEXT, ARGS, origin, RECORD_OMIT, .fallback_text = ""),
    RECORD("depth",  INT,  ARGS, depth,  RECORD_OMIT),
    { 0 },
};
#undef ARGS
#define ARGS struct request
static const struct record_field request_fields[] = {
    RECORD("v",       INT,  ARGS, v,       RECORD_OMIT),
    RECORD("jid",     TEXT, ARGS, jid,     0, .fallback_text = ""),
    RECORD("module",  TEXT, ARGS, module,  0, .fallback_text = ""),
    RECORD("id",      TEXT, ARGS, id,      0, .fallback_text = ""),
    RECORD("args",    MAP,  ARGS, args,    0),
    RECORD("epoch",   INT,  ARGS, epoch,   RECORD_OMIT | RECORD_WIDE),
    RECORD("rdepth",  INT,  ARGS, rdepth,  RECORD_OMIT),
    RECORD("timeout", INT,  ARGS, timeout, RECORD_OMIT | RECORD_WIDE),
    { 0 },
};
#undef ARGS
/* clang-format on */
static const struct record_type event_type =
    RECORD_TYPE("event", struct event, event_fields, RECORD_LENIENT);
static const struct record_type request_type =
    RECORD_TYPE("request", struct request, request_fields, RECORD_LENIENT);

static const char *hex_of(struct arena *arena, const struct record_type *type, const void *record)
{
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    AUTO_BUF struct buf hex = BUF_INIT(ROOM);
    struct err err;

    CHECK_INT(record_encode(&out, type, record, &err), 0);
    for (size_t i = 0; i < out.n; i++)
        buf_printf(&hex, "%02x", (unsigned char)out.p[i]);
    return buf_copy(&hex, arena).p;
}

TEST(messages_of_the_fleet_have_exactly_their_documented_bytes)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct event event = { .id = "I", .tag = "a/b", .ts = { 1794765600, 123456789 }, .v = 1 };
    const struct request ping = { .v = 1,
                                  .jid = "J",
                                  .module = "test.ping",
                                  .id = "ping",
                                  .args = value_map(value_map_new(&arena, 0)),
                                  .epoch = 7 };
    const struct request wide = { .timeout = 5 };
    const struct event never = { .ts = { -62135596800, 0 } };

    CHECK_STR(hex_of(&arena, &event_type, &event),
              "84a26964a149a3746167a3612f62a27473d7ff1d6f34546af9f320a17601");
    CHECK_STR(hex_of(&arena, &request_type, &ping),
              "86a17601a36a6964a14aa66d6f64756c65a9746573742e70696e67a26964a470696e67"
              "a46172677380a565706f6368cf0000000000000007");
    CHECK_STR(hex_of(&arena, &request_type, &wide),
              "85a36a6964a0a66d6f64756c65a0a26964a0a461726773c0a774696d656f7574d30000000000000005");
    CHECK_STR(hex_of(&arena, &event_type, &never),
              "83a26964a0a3746167a0a27473c70cff00000000fffffff1886e0900");
}

/* The table of things without its last line, REST: such records are written without a tree. */
static struct record_type make_strict_type(struct record_field fields[static RECORD_FIELDS_MAX])
{
    size_t n = 0;

    for (; thing_fields[n].kind != RECORD_REST; n++)
        fields[n] = thing_fields[n];
    fields[n] = (struct record_field){ 0 };
    return (struct record_type)RECORD_TYPE("strict", struct thing, fields, RECORD_TAGGED);
}

static void check_bytes_of(const struct record_type *type, const struct thing *thing)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf direct = BUF_INIT(ROOM), by_tree = BUF_INIT(ROOM);
    const struct value tree = record_value(&arena, type, thing);
    struct err err;

    CHECK_INT(record_encode(&direct, type, thing, &err), 0);
    CHECK_INT(msgpack_encode(&by_tree, &tree, &err), 0);
    CHECK(str_eq(buf_view(&direct), buf_view(&by_tree)));
}

TEST(the_bytes_of_a_struct_are_those_of_its_values)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct record_field fields[RECORD_FIELDS_MAX];
    const struct record_type type = make_strict_type(fields);
    const char *words[] = { "one", "zwei \xc3\xa4", "\xff" };
    struct thing thing = { .name = "n", .main = { "m", 7 } };

    check_bytes_of(&type, &thing);
    thing.note = "a note";
    thing.has_code = true;
    thing.count = 9;
    thing.wait = 5000000000;
    thing.weight = 0.5;
    thing.blob = STR("\0\1");
    thing.at = (struct value_time){ 5, 6 };
    thing.colour = GREEN;
    thing.words = (struct param_strs){ ARRAY_LEN(words), words };
    thing.extra = value_list(value_list_new(&arena, 1));
    for (int i = 0; i < 40; i++) {
        VEC_PUSH_IN(&arena, &thing.parts, ((struct part){ "p", (uint16_t)(i * 1000) }));
        VEC_PUSH_IN(&arena, &thing.by_name,
                    ((struct part){ arena_printf(&arena, "%d", i % 20), 3 }));
    }
    check_bytes_of(&type, &thing);
    check_bytes_of(&thing_type, &thing);
}

static struct value nest_lists(struct arena *arena, struct value innermost, int lists)
{
    for (int i = 0; i < lists; i++) {
        struct value_list *list = value_list_new(arena, 1);

        value_list_push(arena, list, innermost);
        innermost = value_list(list);
    }
    return innermost;
}

TEST(a_value_that_is_nested_too_deeply_with_its_record_is_refused)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    struct record_field fields[RECORD_FIELDS_MAX];
    const struct record_type type = make_strict_type(fields);
    struct thing thing = { .name = "n", .main = { "m", 7 } }, got;
    struct err err;

    thing.extra = nest_lists(&arena, value_int(1), MSGPACK_DEPTH_MAX - 1);
    CHECK_INT(record_encode(&out, &type, &thing, &err), 0);
    CHECK_INT(record_decode(&arena, &type, 2, buf_view(&out), &got, &err), 0);
    thing.extra = nest_lists(&arena, thing.extra, 1);
    CHECK_INT(record_encode(&out, &type, &thing, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
}

TEST(a_message_of_the_fleet_may_be_nil_and_have_bytes_after_it)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct event got;
    struct err err;

    CHECK_INT(record_decode(&arena, &event_type, 0, STR("\xc0"), &got, &err), 0);
    CHECK_STR(got.tag, "");
    CHECK_INT(got.ts.seconds, -62135596800);
    CHECK_INT(record_decode(&arena, &event_type, 0, STR("\x81\xa1v\x05 more"), &got, &err), 0);
    CHECK_INT(got.v, 5);
    CHECK_INT(record_decode(&arena, &part_type, 0, STR("\x81\xa4name\xa1n!"), &got, &err), -1);
}

TEST(a_record_that_does_not_fit_leaves_the_buffer_as_it_was)
{
    AUTO_BUF struct buf out = BUF_INIT(FRAME_HEAD + 10);
    const struct part part = { "a name that is longer than the room", 1 };
    struct err err;

    buf_add_text(&out, "x");
    CHECK_INT(record_append(&out, &part_type, &part, 1, 0, &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK(out.n == 1 && !out.full);
}
