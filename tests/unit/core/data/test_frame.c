#include "core/data/frame.h"

#include "core/base/buf.h"
#include "core/base/err.h"
#include "test.h"

#define ROOM    ((size_t)1 << 20)
#define PURPOSE "test of frames"
#define FRAMES  20

static void add_frame(struct buf *out, struct str payload, uint64_t salt)
{
    const size_t start = frame_begin(out);
    struct err err;

    buf_add_str(out, payload);
    CHECK_INT(frame_end(out, start, 3, salt, &err), 0);
}

/* A file with FRAMES frames: "payload 0", ... */
static void make_file(struct buf *out)
{
    frame_file_begin(out, PURPOSE, 42);
    for (int i = 0; i < FRAMES; i++) {
        AUTO_BUF struct buf payload = BUF_INIT(ROOM);

        buf_printf(&payload, "payload %d", i);
        add_frame(out, buf_view(&payload), 42);
    }
}

struct found {
    size_t whole, damaged, damaged_bytes, torn_bytes;
};

/* Every byte of the file is in exactly one step. */
static struct found scan_file(struct str bytes)
{
    struct frame_scan scan;
    struct found found = { 0 };
    struct frame frame;
    enum frame_step step;
    struct err err;
    size_t at;

    CHECK_INT(frame_file_open(&scan, bytes, PURPOSE, &err), 0);
    at = scan.at;
    while ((step = frame_next(&scan, &frame)) != FRAME_END) {
        CHECK_INT(frame.offset, at);
        CHECK(frame.size > 0);
        at += frame.size;
        found.whole += step == FRAME_WHOLE;
        found.damaged += step == FRAME_DAMAGE;
        found.damaged_bytes += step == FRAME_DAMAGE ? frame.size : 0;
        found.torn_bytes += step == FRAME_TORN ? frame.size : 0;
        if (step == FRAME_WHOLE)
            CHECK(frame.version == 3 && str_starts(frame.payload, STR("payload ")));
    }
    CHECK_INT(at, bytes.n);
    return found;
}

TEST(frames_are_read_as_they_were_written)
{
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    struct found found;

    make_file(&out);
    found = scan_file(buf_view(&out));
    CHECK_INT(found.whole, FRAMES);
    CHECK_INT(found.damaged + found.torn_bytes, 0);
}

TEST(a_flipped_bit_costs_one_frame_wherever_it_is)
{
    AUTO_BUF struct buf out = BUF_INIT(ROOM);

    make_file(&out);
    for (size_t bit = 0; bit < 8 * out.n; bit++) {
        struct found found;

        out.p[bit / 8] ^= (char)(1 << bit % 8);
        found = scan_file(buf_view(&out));
        if (bit / 8 < 2 * (FRAME_HEAD + 8 + strlen(PURPOSE))) /* the other copy of the salt */
            CHECK_INT(found.whole, FRAMES);
        else
            CHECK(found.whole == FRAMES - 1 && found.damaged == 1 &&
                  found.damaged_bytes <= FRAME_HEAD + 10);
        out.p[bit / 8] ^= (char)(1 << bit % 8);
    }
}

TEST(a_file_that_was_cut_is_torn_and_not_damaged)
{
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    const size_t start = 2 * (FRAME_HEAD + 8 + strlen(PURPOSE));

    make_file(&out);
    for (size_t n = start; n <= out.n; n++) {
        struct found found = scan_file(str_slice(buf_view(&out), 0, n));

        CHECK_INT(found.damaged, 0);
        CHECK(found.torn_bytes < FRAME_HEAD + 10);
    }
}

TEST(zeros_at_the_end_are_a_torn_tail)
{
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    struct found found;

    make_file(&out);
    buf_fill(&out, '\0', 5000);
    found = scan_file(buf_view(&out));
    CHECK(found.whole == FRAMES && found.damaged == 0 && found.torn_bytes == 5000);
}

TEST(content_of_a_damaged_frame_never_passes_for_a_frame)
{
    AUTO_BUF struct buf inner = BUF_INIT(ROOM);
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    struct found found;
    size_t head;

    add_frame(&inner, STR("payload of a forger"), 0); /* who does not know the salt */
    frame_file_begin(&inner, PURPOSE, 42);
    frame_file_begin(&out, PURPOSE, 42);
    head = out.n;
    add_frame(&out, buf_view(&inner), 42);
    add_frame(&out, STR("payload behind"), 42);
    out.p[head] ^= 1;
    found = scan_file(buf_view(&out));
    CHECK_INT(found.whole, 1);
    CHECK_INT(found.damaged_bytes, FRAME_HEAD + inner.n);
}

TEST(a_file_of_another_purpose_or_without_a_salt_is_refused)
{
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    struct frame_scan scan;
    struct err err;

    make_file(&out);
    CHECK_INT(frame_file_open(&scan, buf_view(&out), "another", &err), -1);
    out.p[FRAME_HEAD] ^= 1;
    CHECK_INT(frame_file_open(&scan, buf_view(&out), PURPOSE, &err), 0);
    out.p[FRAME_HEAD + FRAME_HEAD + 8 + strlen(PURPOSE)] ^= 1;
    CHECK_INT(frame_file_open(&scan, buf_view(&out), PURPOSE, &err), -1);
    CHECK_STR(err.text, "not a file of the format 'test of frames', or its beginning is damaged");
    CHECK_INT(frame_file_open(&scan, STR(""), PURPOSE, &err), -1);
}
