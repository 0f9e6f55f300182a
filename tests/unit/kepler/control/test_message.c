#include "kepler/control/message.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "kepler/control/request.h"
#include "core/data/frame.h"
#include "test.h"

#define ROOM ((size_t)1 << 20)

/* The one message in `bytes`. */
static int read_one(struct arena *arena, struct str bytes, struct message *ret, struct err *err)
{
    struct str payload;

    if (message_find(bytes, &payload, err) < 0)
        return -1;
    CHECK(payload.p != NULL);
    CHECK_INT(payload.n + FRAME_HEAD, bytes.n);
    return message_decode(arena, payload, ret, err);
}

TEST(messages_survive_a_round_trip)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    struct message sent = { MESSAGE_EVENT, 42, "progress", message_body(&arena, "service", "web"),
                            NULL };
    struct message got;
    struct err err;

    CHECK(message_encode(&out, &sent, &err) == 0);
    CHECK(read_one(&arena, buf_view(&out), &got, &err) == 0);
    CHECK_INT(got.kind, MESSAGE_EVENT);
    CHECK_INT(got.id, 42);
    CHECK_STR(got.name, "progress");
    CHECK_STR(message_text(&got, "service", "?"), "web");
    CHECK_STR(message_text(&got, "nothing", "?"), "?");
}

TEST(an_incomplete_frame_is_waited_for)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(ROOM);
    struct message hello = message_hello();
    struct str payload;
    struct err err;

    CHECK(message_encode(&out, &hello, &err) == 0);
    for (size_t n = 0; n < out.n; n++) {
        CHECK(message_find(str_slice(buf_view(&out), 0, n), &payload, &err) == 0);
        CHECK(payload.p == NULL);
    }
    (void)arena;
}

TEST(a_message_beyond_the_limit_is_refused_by_its_head_alone)
{
    AUTO_BUF struct buf out = BUF_INIT(MESSAGE_MAX + ROOM);
    const size_t start = frame_begin(&out);
    struct str payload;
    struct err err;

    buf_fill(&out, 'x', MESSAGE_MAX + 1);
    CHECK(frame_end(&out, start, MESSAGE_PROTOCOL, 0, &err) == 0);
    CHECK(message_find(str_slice(buf_view(&out), 0, FRAME_HEAD), &payload, &err) == -1);
    CHECK(err.code == ERR_LIMIT);
    CHECK_STR(err.text, "a message of 16777217 bytes exceeds the limit of 16777216");
}

TEST(an_older_hello_gets_the_advice_to_restart_the_daemon)
{
    struct str payload;
    struct err err;

    CHECK(message_find(str_bytes("\x00\x00\x00\x11\x94\x00\x01\xac"
                                 "kepler 0.1.0\xc0",
                                 21),
                       &payload, &err) == -1);
    CHECK_STR(err.text, "the peer does not speak protocol 3: restart the daemon after an upgrade");
}

TEST(a_message_too_large_leaves_the_buffer_unchanged)
{
    AUTO_BUF struct buf out = BUF_INIT(20);
    struct message message = { MESSAGE_EVENT, 1, "a name that is longer than the room",
                               value_null(), NULL };
    struct err err;

    buf_add_text(&out, "before");
    CHECK(message_encode(&out, &message, &err) == -1);
    CHECK(err.code == ERR_LIMIT);
    CHECK_STR(buf_text(&out), "before");
    CHECK(!out.full);
}

TEST(a_message_is_a_list_of_four)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
        { "", 0 },
        { "\xc0", 1 },
        { "\x93\x01\x02\xa1x", 5 },         /* three parts */
        { "\x94\x01\x02\x03\xc0", 5 },      /* the name is a number */
        { "\x94\x09\x02\xa1x\xc0", 6 },     /* no such kind */
        { "\x94\x01\xff\xa1x\xc0", 6 },     /* an id below zero */
        { "\x94\x01\x02\xa2x\x00\xc0", 7 }, /* a NUL in the name */
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct message message;
        struct err err;

        CHECK(message_decode(&arena, str_bytes(cases[i].bytes, cases[i].n), &message, &err) == -1);
    }
}

TEST(another_protocol_is_refused_naming_both_versions)
{
    struct message hello = message_hello();
    struct err err;

    CHECK(message_check_hello(&hello, &err) == 0);
    hello.id = 7;
    hello.name = "kepler 9.9";
    CHECK(message_check_hello(&hello, &err) == -1);
    CHECK(err.code == ERR_UNSUPPORTED);
    CHECK(strstr(err.text, "'kepler 9.9' speaks protocol 7") != NULL);
    hello.kind = MESSAGE_EVENT;
    CHECK(message_check_hello(&hello, &err) == -1);
}

TEST(requests_survive_a_round_trip_without_unset_fields)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *const names[] = { "db", "web" };
    const struct request_start start = { .config = "/a/kepler.yaml",
                                         .services = { 2, names },
                                         .follow = true };
    struct value body = request_encode(&arena, REQUEST_START, &start);
    const struct request_start *got;
    void *args;
    struct err err;

    CHECK_INT(body.map->count, 3);
    CHECK(request_decode(&arena, REQUEST_START, &body, &args, &err) == 0);
    got = args;
    CHECK_STR(got->config, "/a/kepler.yaml");
    CHECK_INT(got->services.n, 2);
    CHECK_STR(got->services.p[1], "web");
    CHECK(got->follow && !got->logs && !got->no_deps);
}

TEST(zero_lines_and_all_lines_are_different_requests)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct request_logs logs = { .config = "/k", .has_head = true };
    struct value body = request_encode(&arena, REQUEST_LOGS, &logs);
    void *args;
    struct err err;

    CHECK(request_decode(&arena, REQUEST_LOGS, &body, &args, &err) == 0);
    CHECK(((const struct request_logs *)args)->has_head);
    CHECK(!((const struct request_logs *)args)->has_tail);
}

TEST(wrong_keys_and_types_in_a_request_are_explained)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value body = message_body(&arena, "config", "relative");
    void *args;
    struct err err;

    CHECK(request_decode(&arena, REQUEST_STOP, &body, &args, &err) == -1);
    body = message_body(&arena, "cnfig", "/x");
    CHECK(request_decode(&arena, REQUEST_STOP, &body, &args, &err) == -1);
    CHECK(strstr(err.text, "cnfig") != NULL);
}

TEST(every_request_has_a_name_and_a_valid_table)
{
    for (int i = 0; i < REQUEST_KINDS; i++) {
        const struct request *request = request_get((enum request_kind)i);
        enum request_kind kind;
        struct err err;

        CHECK(record_check(&request->record, &err) == 0);
        CHECK(request_find(request->record.name, &kind));
        CHECK_INT(kind, i);
    }
    CHECK(!request_find("dance", &(enum request_kind){ 0 }));
}
