#include "fleet/reactor/event_gate.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/data/record.h"
#include "test.h"

#define SECOND NUMBER_NS_PER_S
#define NOW    (INT64_C(1800000000) * SECOND)

static const struct event_gate_options options = {
    .max_chain_depth = 3,
    .source_rate = 120,
    .max_event_age = 3600 * SECOND,
};

static struct str encode(struct arena *arena, const struct event *event)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err err;

    if (record_encode(&out, &event_type, event, &err) < 0)
        fail_msg("%s", err.text);
    return buf_copy(&out, arena);
}

static struct event event_of(const char *tag)
{
    return (struct event){ .id = "E1", .tag = tag, .ts = { NOW / SECOND, 0 }, .v = 1 };
}

/* The reason for which an event is dropped; "" when it passes. */
static const char *drop_at(struct event_gate *event_gate, const char *subject,
                           const struct event *event, int64_t monotonic)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct event_gate_delivery delivery = {
        .subject = str_from(subject),
        .payload = encode(&arena, event),
        .monotonic = monotonic,
        .wall = NOW,
    };
    struct event_gate_event passed;

    return event_gate_drop_name(event_gate_check(event_gate, &arena, &delivery, &passed));
}

static const char *drop_of(const struct event_gate_options *with, const char *subject,
                           const struct event *event)
{
    struct event_gate event_gate;
    const char *drop;

    event_gate_init(&event_gate, with);
    drop = drop_at(&event_gate, subject, event, SECOND);
    event_gate_done(&event_gate);
    return drop;
}

TEST(an_event_whose_subject_is_none_of_the_four_shapes_is_malformed)
{
    static const char *const subjects[] = {
        "zester.event.web-01",
        "zester.event.web-01.send",
        "zester.event.web-01.send.",
        "zester.event.web-01..a",
        "zester.event.*.send.a",
        "zester.event.web-01.send.>",
        "zester.event.web-01.tell.a",
        "zester.event._other.a.b",
        "zester.event._admin.a",
        "zester.job.j1.status",
        "",
    };
    const struct event event = event_of("a");

    for (size_t i = 0; i < ARRAY_LEN(subjects); i++)
        CHECK_STR(drop_of(&options, subjects[i], &event), "malformed");
}

TEST(a_payload_that_is_not_an_event_is_a_decode_drop)
{
    static const struct {
        const char *bytes;
        size_t n;
    } payloads[] = {
        { "", 0 },
        { "\x93\x01\x02\x03", 4 }, /* a list */
        { "\xc1", 1 },             /* never used */
        { "\x81\xa2id\x07", 5 },   /* the id is a number */
        { "\x81\xa2ts\x07", 5 },   /* the time is a number */
        { "\x81\xa5"
          "depth\xa1"
          "1",
          9 }, /* the depth is a text */
        { "\x81\xa4"
          "data\x91\x01",
          8 },                         /* the data is a list */
        { "\xdd\xff\xff\xff\xff", 5 }, /* a list of 2^32 items in five bytes */
    };
    struct event_gate event_gate;

    event_gate_init(&event_gate, &options);
    for (size_t i = 0; i < ARRAY_LEN(payloads); i++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const struct event_gate_delivery delivery = {
            .subject = STR("zester.event.web-01.send.a"),
            .payload = { payloads[i].bytes, payloads[i].n },
        };
        struct event_gate_event event;

        CHECK_STR(event_gate_drop_name(event_gate_check(&event_gate, &arena, &delivery, &event)),
                  "decode");
    }
    event_gate_done(&event_gate);
}

TEST(an_id_that_is_too_long_is_a_decode_drop)
{
    char id[EVENT_GATE_ID_MAX + 2];
    struct event event = event_of("a");

    memset(id, 'x', sizeof(id));
    id[sizeof(id) - 1] = '\0';
    event.id = id;
    CHECK_STR(drop_of(&options, "zester.event.web-01.send.a", &event), "decode");
    id[EVENT_GATE_ID_MAX] = '\0';
    CHECK_STR(drop_of(&options, "zester.event.web-01.send.a", &event), "");
}

TEST(a_tag_that_is_not_the_one_of_the_subject_is_a_spoof)
{
    static const struct {
        const char *subject, *tag, *drop;
    } cases[] = {
        { "zester.event.web-01.send.a.b", "a/b", "" },
        { "zester.event.web-01.send.a.b", "a/c", "spoof" },
        { "zester.event.web-01.send.a.b", "a.b", "spoof" },
        { "zester.event.web-01.send.a.b", "", "spoof" },
        { "zester.event.web-01.send.a.b", NULL, "spoof" },
        { "zester.event.web-01.beacon.service", "beacon/web-01/service", "" },
        { "zester.event.web-01.beacon.service", "beacon/web-02/service", "spoof" },
        { "zester.event._master.enroll.pending.enr-1", "enroll/pending/enr-1", "" },
        { "zester.event._admin.send.a", "a", "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct event event = event_of(cases[i].tag);

        CHECK_STR(drop_of(&options, cases[i].subject, &event), cases[i].drop);
    }
}

static bool is_web(void *user, const char *peel)
{
    (void)user;
    return strcmp(peel, "web-01") == 0;
}

TEST(an_event_of_a_revoked_peel_is_dropped)
{
    struct event_gate_options with = options;
    const struct event event = event_of("a");

    with.is_revoked = is_web;
    CHECK_STR(drop_of(&with, "zester.event.web-01.send.a", &event), "revoked");
    CHECK_STR(drop_of(&with, "zester.event.web-02.send.a", &event), "");
    CHECK_STR(drop_of(&with, "zester.event._master.a", &event), "");
}

TEST(events_at_or_beyond_the_cap_of_chains_are_dropped)
{
    static const struct {
        int32_t depth;
        const char *drop;
    } cases[] = { { 0, "" }, { 2, "" }, { 3, "depth" }, { 4, "depth" }, { INT32_MAX, "depth" } };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct event event = event_of("a");

        event.depth = cases[i].depth;
        CHECK_STR(drop_of(&options, "zester.event.web-01.send.a", &event), cases[i].drop);
    }
}

TEST(a_negative_depth_counts_as_none)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct event event = event_of("a");
    struct event_gate_delivery delivery = { .subject = STR("zester.event.web-01.send.a"),
                                            .wall = NOW };
    struct event_gate_event passed;
    struct event_gate event_gate;

    event.depth = -1000;
    delivery.payload = encode(&arena, &event);
    event_gate_init(&event_gate, &options);
    CHECK_INT(event_gate_check(&event_gate, &arena, &delivery, &passed), EVENT_GATE_PASS);
    CHECK_INT(passed.event.depth, 0);
    event_gate_done(&event_gate);
}

static int count_passes(struct event_gate *event_gate, const char *subject, const char *tag,
                        int events, int64_t at)
{
    const struct event event = event_of(tag);
    int passes = 0;

    for (int i = 0; i < events; i++)
        passes += drop_at(event_gate, subject, &event, at)[0] == '\0' ? 1 : 0;
    return passes;
}

TEST(a_source_may_send_a_burst_of_thirty_and_then_two_a_second)
{
    struct event_gate event_gate;

    event_gate_init(&event_gate, &options);
    CHECK_INT(count_passes(&event_gate, "zester.event.web-01.send.a", "a", 50, SECOND), 30);
    CHECK_INT(count_passes(&event_gate, "zester.event.web-02.send.a", "a", 50, SECOND), 30);
    CHECK_INT(count_passes(&event_gate, "zester.event.web-01.send.a", "a", 50, 2 * SECOND), 2);
    CHECK_INT(count_passes(&event_gate, "zester.event.web-01.send.a", "a", 500, 60 * SECOND), 30);
    event_gate_done(&event_gate);
}

TEST(a_rate_of_zero_is_no_limit)
{
    struct event_gate_options with = options;
    struct event_gate event_gate;

    with.source_rate = 0;
    event_gate_init(&event_gate, &with);
    CHECK_INT(count_passes(&event_gate, "zester.event.web-01.send.a", "a", 1000, SECOND), 1000);
    event_gate_done(&event_gate);
}

TEST(events_of_jobs_do_not_use_up_the_tokens_of_other_events_of_masters)
{
    struct event_gate event_gate;

    event_gate_init(&event_gate, &options);
    CHECK_INT(count_passes(&event_gate, "zester.event._master.job.j1.finalized", "job/j1/finalized",
                           100, SECOND),
              30);
    CHECK_INT(count_passes(&event_gate, "zester.event._master.enroll.pending.e", "enroll/pending/e",
                           100, SECOND),
              30);
    event_gate_done(&event_gate);
}

TEST(events_that_are_dropped_earlier_use_no_tokens)
{
    struct event_gate event_gate;

    event_gate_init(&event_gate, &options);
    CHECK_INT(count_passes(&event_gate, "zester.event.web-01.send.a", "b", 100, SECOND), 0);
    CHECK_INT(count_passes(&event_gate, "zester.event.web-01.send.a", "a", 100, SECOND), 30);
    event_gate_done(&event_gate);
}

TEST(an_event_that_is_too_old_is_stale_and_one_without_time_is_not)
{
    const int64_t now = NOW / SECOND;
    const struct {
        struct value_time ts;
        const char *drop;
    } cases[] = {
        { { now - 3600, 0 }, "" },
        { { now - 3600, 1 }, "" },
        { { now - 3601, 999999999 }, "stale" },
        { { now - 3601, 0 }, "stale" },
        { { now - 86400, 0 }, "stale" },
        { { INT64_MIN / 2, 0 }, "stale" },
        { { 0, 0 }, "" },
        { { RECORD_TIME_UNSET, 0 }, "" }, /* as programs in Go leave it */
        { { RECORD_TIME_UNSET, 1 }, "stale" },
        { { now + 86400, 0 }, "" },
    };
    struct event_gate_options without = options;

    without.max_event_age = 0;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct event event = event_of("a");

        event.ts = cases[i].ts;
        CHECK_STR(drop_of(&options, "zester.event.web-01.send.a", &event), cases[i].drop);
        CHECK_STR(drop_of(&without, "zester.event.web-01.send.a", &event), "");
    }
}

TEST(the_gates_are_asked_in_their_order)
{
    struct event event = event_of("b"); /* a spoof, too deep, and too old */
    struct event_gate_options with = options;

    with.is_revoked = is_web;
    event.depth = 9;
    event.ts.seconds = 1;
    CHECK_STR(drop_of(&with, "zester.event.web-01.send.a", &event), "spoof");
    event.tag = "a";
    CHECK_STR(drop_of(&with, "zester.event.web-01.send.a", &event), "revoked");
    CHECK_STR(drop_of(&options, "zester.event.web-01.send.a", &event), "depth");
    event.depth = 0;
    CHECK_STR(drop_of(&options, "zester.event.web-01.send.a", &event), "stale");
}
