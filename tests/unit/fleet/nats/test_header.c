#include "fleet/nats/header.h"

#include "core/base/err.h"
#include "test.h"

static const struct {
    const char *block;
    int status;
    const char *text;
} statuses[] = {
    { "NATS/1.0\r\n\r\n", 0, "" },
    { "NATS/1.0 503\r\n\r\n", 503, "" },
    { "NATS/1.0 503 No Responders\r\n\r\n", 503, "No Responders" },
    { "NATS/1.0 100 Idle Heartbeat\r\nA: b\r\n\r\n", 100, "Idle Heartbeat" },
    { "NATS/1.0 50\r\n\r\n", 0, "" },
    { "NATS/1.0 5x3 What\r\n\r\n", 0, "" },
    { "HTTP/1.1 200 OK\r\n\r\n", 0, "" },
    { "", 0, "" },
};

TEST(the_status_is_on_the_version_line)
{
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        struct str text;

        CHECK_INT(nats_header_status(str_from(statuses[i].block), &text), statuses[i].status);
        CHECK(str_is(text, statuses[i].text));
    }
}

TEST(values_are_found_by_exact_name_and_the_first_counts)
{
    struct str block =
        STR("NATS/1.0\r\nno colon\r\nA:1\r\nB :  two words \r\nA: 3\r\n: x\r\nempty:\r\n\r\n");
    struct str value;

    CHECK(nats_header_find(block, "A", &value) && str_is(value, "1"));
    CHECK(nats_header_find(block, "B ", &value) && str_is(value, "two words"));
    CHECK(nats_header_find(block, "empty", &value) && value.n == 0);
    CHECK(!nats_header_find(block, "a", &value));
    CHECK(!nats_header_find(block, "NATS/1.0", &value));
}

TEST(what_is_added_is_found)
{
    AUTO_BUF struct buf block = BUF_INIT(NATS_HEADER_MAX);
    struct str value;
    struct err err;

    CHECK_INT(nats_header_add(&block, "Nats-Msg-Id", STR("x:1"), &err), 0);
    CHECK_INT(nats_header_add(&block, "Empty", STR(""), &err), 0);
    CHECK_STR(buf_text(&block), "NATS/1.0\r\nNats-Msg-Id: x:1\r\nEmpty: \r\n");
    CHECK(nats_header_find(buf_view(&block), "Nats-Msg-Id", &value) && str_is(value, "x:1"));
}

TEST(a_value_cannot_smuggle_in_a_line)
{
    AUTO_BUF struct buf block = BUF_INIT(64);
    struct err err;

    CHECK_INT(nats_header_add(&block, "A", STR("1\r\nB: 2"), &err), -1);
    CHECK_STR(err.text, "the value of header 'A' has more than one line");
    CHECK_INT(nats_header_add(&block, "A: b", STR("1"), &err), -1);
    CHECK_STR(err.text, "'A: b' is not a valid header name");
    CHECK_INT(nats_header_add(&block, "", STR("1"), &err), -1);
    CHECK_INT(block.n, 0);
    buf_fill(&block, 'x', 60);
    CHECK_INT(nats_header_add(&block, "A", STR("12345"), &err), -1);
    CHECK_INT(err.code, ERR_LIMIT);
}
