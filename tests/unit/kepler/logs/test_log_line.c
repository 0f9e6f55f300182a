#include "test.h"

#include <stdlib.h>
#include <time.h>

#include "kepler/logs/log_line.h"

static const struct log_line plain = {
    .seq = 7,
    .time = INT64_C(1700000000123456789),
    .service = "web",
    .hook = "",
    .text = { "hello", 5 },
};

static const char *print(struct buf *out, struct log_line line, enum log_line_form form)
{
    (void)setenv("TZ", "UTC-1", 1);
    tzset();
    buf_clear(out);
    log_line_print(&line, form, NULL, out);
    return buf_text(out);
}

static struct log_line with_text(const char *text)
{
    struct log_line line = plain;

    line.text = str_from(text);
    return line;
}

TEST(a_plain_line_has_local_time_level_and_source)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct log_line line = plain;

    CHECK_STR(print(&out, line, LOG_LINE_PLAIN), "2023-11-14 23:13:20 [INFO] web | hello\n");
    line.stream = SEGMENT_STDERR;
    line.hook = "pre_start";
    CHECK_STR(print(&out, line, LOG_LINE_PLAIN),
              "2023-11-14 23:13:20 [ERROR] web.pre_start | hello\n");
    line.stream = SEGMENT_WARNINGS;
    CHECK_STR(print(&out, line, LOG_LINE_PLAIN),
              "2023-11-14 23:13:20 [WARN] web.pre_start | hello\n");
    line.lost = true;
    CHECK_STR(print(&out, line, LOG_LINE_PLAIN),
              "2023-11-14 23:13:20 [WARN] web.pre_start | hello\n");
}

TEST(the_carriage_return_of_a_line_end_is_not_shown)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    CHECK_STR(print(&out, with_text("done\r"), LOG_LINE_PLAIN),
              "2023-11-14 23:13:20 [INFO] web | done\n");
    CHECK_STR(print(&out, with_text("10%\r20%\r"), LOG_LINE_PLAIN),
              "2023-11-14 23:13:20 [INFO] web | 10%\\x0d20%\n");
    CHECK_STR(print(&out, with_text("done\r"), LOG_LINE_RAW), "done\r\n");
}

TEST(a_json_line_shows_its_own_message_level_and_time)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const char *text = "{\"msg\":\"m\",\"level\":\"fatal\",\"time\":1600000000,\"k\":[1]}";

    CHECK_STR(print(&out, with_text(text), LOG_LINE_PLAIN),
              "2020-09-13 13:26:40 [FATAL] web | m\n");
    CHECK_STR(print(&out, with_text(text), LOG_LINE_JSON),
              "{\"timestamp\":\"2020-09-13T12:26:40.000Z\",\"level\":\"fatal\",\"msg\":\"m\","
              "\"service\":\"web\",\"k\":[1]}\n");
    CHECK_STR(print(&out, with_text(text), LOG_LINE_RAW),
              "{\"msg\":\"m\",\"level\":\"fatal\",\"time\":1600000000,\"k\":[1]}\n");
}

TEST(attributes_never_override_stored_fields)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    CHECK_STR(print(&out,
                    with_text("{\"message\":\"m\",\"msg\":5,\"service\":\"evil\",\"hook\":\"h\"}"),
                    LOG_LINE_JSON),
              "{\"timestamp\":\"2023-11-14T22:13:20.123Z\",\"level\":\"info\",\"msg\":\"m\","
              "\"service\":\"web\",\"hook\":\"h\"}\n");
}

TEST(no_byte_of_a_line_controls_a_terminal_or_breaks_json)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct log_line line = plain;

    line.text = str_bytes("a\x1b[2J\r\0\xff\t\xc3\xa4\xc2\x9b", 13);
    CHECK_STR(print(&out, line, LOG_LINE_PLAIN),
              "2023-11-14 23:13:20 [INFO] web | a\\x1b[2J\\x0d\\x00\\xff\t\xc3\xa4\\xc2\\x9b\n");
    CHECK_HAS(print(&out, line, LOG_LINE_JSON),
              "\"msg\":\"a\\u001b[2J\\r\\u0000\xef\xbf\xbd\\t\xc3\xa4");
    (void)print(&out, line, LOG_LINE_RAW);
    CHECK(str_eq(buf_view(&out), str_bytes("a\x1b[2J\r\0\xff\t\xc3\xa4\xc2\x9b\n", 14)));
}

TEST(pieces_of_a_line_are_one_line_in_raw)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct log_line line = with_text("{\"msg\":\"m\"}");

    line.open = true;
    CHECK_STR(print(&out, line, LOG_LINE_RAW), "{\"msg\":\"m\"}");
    CHECK_STR(print(&out, line, LOG_LINE_PLAIN),
              "2023-11-14 23:13:20 [INFO] web | {\"msg\":\"m\"} ...\n"); /* only a piece */
    CHECK_HAS(print(&out, line, LOG_LINE_JSON), ",\"partial\":true}\n");
    line.open = false;
    line.continues = true;
    line.text = STR("end");
    CHECK_STR(print(&out, line, LOG_LINE_PLAIN), "2023-11-14 23:13:20 [INFO] web | ... end\n");
    line.text = STR("");
    CHECK_STR(print(&out, line, LOG_LINE_RAW), "\n");
    CHECK_STR(print(&out, line, LOG_LINE_PLAIN), "");
}
