/* Any bytes are frames, damage and a torn tail, which together are all of the bytes; what is in a
 * frame is read by a table of every kind, and written in a form that reads the same. */
#include <assert.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/str.h"
#include "core/data/frame.h"
#include "core/data/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct leaf {
    const char *name;
    int8_t small;
};

struct all {
    const char *text;
    bool flag, has_number;
    int number;
    uint64_t wide;
    double real;
    struct str bytes;
    struct value_time time;
    int word;
    struct param_strs texts;
    struct value any, map, rest;
    struct leaf one;
    VEC(struct leaf) list;
    VEC(struct leaf) named;
};

static const char *const words[] = { "red", "green" };

/* clang-format off */
#define ARGS struct leaf
static const struct record_field leaf_fields[] = {
    RECORD("name",  TEXT, ARGS, name,  RECORD_REQUIRED),
    RECORD("small", INT,  ARGS, small, RECORD_OMIT),
    { 0 },
};
#undef ARGS
static const struct record_type leaf_type = RECORD_TYPE("leaf", struct leaf, leaf_fields, 0);
#define ARGS struct all
static const struct record_field all_fields[] = {
    RECORD("t", TEXT,   ARGS, text,   0),
    RECORD("f", BOOL,   ARGS, flag,   RECORD_NIL),
    RECORD("n", INT,    ARGS, number, 0, RECORD_GIVEN(ARGS, has_number)),
    RECORD("w", INT,    ARGS, wide,   RECORD_WIDE),
    RECORD("r", DOUBLE, ARGS, real,   RECORD_OMIT),
    RECORD("b", BYTES,  ARGS, bytes,  RECORD_OMIT),
    RECORD("d", TIME,   ARGS, time,   RECORD_OMIT),
    RECORD("c", WORD,   ARGS, word,   RECORD_NUMBERED, RECORD_WORDS(words)),
    RECORD("s", TEXTS,  ARGS, texts,  0),
    RECORD("a", ANY,    ARGS, any,    RECORD_OMIT),
    RECORD("m", MAP,    ARGS, map,    0),
    RECORD("o", STRUCT, ARGS, one,    0, .inner = &leaf_type),
    RECORD("l", LIST,   ARGS, list,   0, .inner = &leaf_type),
    RECORD("k", NAMED,  ARGS, named,  0, .inner = &leaf_type),
    RECORD("",  REST,   ARGS, rest,   0),
    { 0 },
};
#undef ARGS
/* clang-format on */
static const struct record_type all_type =
    RECORD_TYPE("all", struct all, all_fields, RECORD_LENIENT);

static void try_record(struct str payload)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf first = BUF_INIT(BUF_NO_LIMIT), second = BUF_INIT(BUF_NO_LIMIT);
    struct all all, back;
    struct err err;
    int result;

    if (record_decode(&arena, &all_type, 0, payload, &all, &err) < 0)
        return;
    if (!all.one.name)
        all.one.name = "";
    result = record_encode(&first, &all_type, &all, &err);
    assert(result == 0);
    result = record_decode(&arena, &all_type, 0, buf_view(&first), &back, &err);
    assert(result == 0);
    result = record_encode(&second, &all_type, &back, &err);
    assert(result == 0 && str_eq(buf_view(&first), buf_view(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame_scan scan = { .bytes = str_bytes(data, size) };
    struct frame frame;
    enum frame_step step;
    struct err err;
    size_t at = 0;

    while ((step = frame_next(&scan, &frame)) != FRAME_END) {
        assert(frame.offset == at && frame.size > 0 && frame.size <= size - at);
        at += frame.size;
        if (step == FRAME_WHOLE)
            try_record(frame.payload);
    }
    assert(at == size);
    (void)frame_file_open(&scan, str_bytes(data, size), "fuzz", &err);
    try_record(str_bytes(data, size)); /* checksums keep random bytes out of frames */
    return 0;
}
