#include "core/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "test.h"

struct seen {
    enum log_level level;
    int64_t ns;
    struct buf text;
    int lines;
};

static struct seen seen = { .text = BUF_INIT(BUF_NO_LIMIT) };

static void remember(void *context, enum log_level level, int64_t ns, struct str text)
{
    struct seen *s = context;

    s->level = level;
    s->ns = ns;
    s->lines++;
    buf_clear(&s->text);
    buf_add_str(&s->text, text);
    errno = EIO;
}

static int64_t noon(void)
{
    return INT64_C(1769860800250000000);
}

static void mask(void *context, struct buf *text)
{
    size_t at = str_find(buf_view(text), STR("hunter2"), 0);

    (void)context;
    if (at != STR_NONE)
        memcpy(text->p + at, "*******", 7);
}

static const struct log log_to_seen = { remember, noon, mask, &seen, NULL };

TEST(a_line_reaches_the_sink_with_level_and_time)
{
    log_use(&log_to_seen);
    errno = ENOENT;
    log_warning("disk is slow name=%s ms=%d", "sda", 17);
    CHECK_INT(errno, ENOENT);
    CHECK_INT(seen.level, LOG_LEVEL_WARNING);
    CHECK_INT(seen.ns, noon());
    CHECK_STR(buf_text(&seen.text), "disk is slow name=sda ms=17");
    log_error("e");
    CHECK_INT(seen.level, LOG_LEVEL_ERROR);
    log_info("i");
    CHECK_INT(seen.level, LOG_LEVEL_INFO);
    buf_done(&seen.text);
}

TEST(lines_above_the_level_are_dropped)
{
    log_use(&log_to_seen);
    log_debug("not seen");
    CHECK_INT(seen.lines, 0);
    log_set_level(LOG_LEVEL_DEBUG);
    CHECK(log_is_on(LOG_LEVEL_DEBUG));
    log_debug("seen");
    CHECK_INT(seen.lines, 1);
    log_set_level(LOG_LEVEL_ERROR);
    log_warning("not seen");
    CHECK_INT(seen.lines, 1);
    buf_done(&seen.text);
}

TEST(secrets_are_masked_before_any_sink_sees_them)
{
    log_use(&log_to_seen);
    log_info("login password=%s", "hunter2");
    CHECK_STR(buf_text(&seen.text), "login password=*******");
    buf_done(&seen.text);
}

TEST(text_from_outside_cannot_forge_a_line)
{
    log_use(&log_to_seen);
    log_info("name=%s", "a\nerror forged\t\x1b[2J\x7f\xff\xc2\x85\u00e9\n\n");
    CHECK_STR(buf_text(&seen.text), "name=a\\nerror forged\\t\\x1b[2J\\x7f\\xff\\xc2\\x85\u00e9");
    buf_done(&seen.text);
}

TEST(long_texts_are_cut)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    log_use(&log_to_seen);
    buf_fill(&text, 'x', 100000);
    log_info("%s", buf_text(&text));
    CHECK_INT(seen.text.n, LOG_TEXT_MAX + 3);
    CHECK(str_ends(buf_view(&seen.text), STR("x...")));
    buf_fill(&text, 'x', 2000000);
    log_info("%s", buf_text(&text));
    CHECK_STR(buf_text(&seen.text), "(text of more than 1048576 bytes left out)");
    buf_done(&seen.text);
}

TEST(without_a_sink_lines_go_to_stderr)
{
    char text[100] = "";
    int ends[2], old = dup(STDERR_FILENO);
    ssize_t n;

    CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
    CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
    log_use(NULL);
    log_info("service started name=%s", "web");
    CHECK(dup2(old, STDERR_FILENO) >= 0);
    n = read(ends[0], text, sizeof(text) - 1);
    CHECK(n > 0);
    CHECK_STR(text, "info service started name=web\n");
}

TEST(a_line_with_time_is_written_in_utc)
{
    AUTO_BUF struct buf out = BUF_INIT(100);

    log_print_line(LOG_LEVEL_ERROR, noon(), STR("no space left"), &out);
    CHECK_STR(buf_text(&out), "2026-01-31T12:00:00.250Z error no space left\n");
}

TEST(levels_have_names)
{
    static const char *const names[] = { "error", "warning", "info", "debug" };
    enum log_level level = LOG_LEVEL_INFO;

    for (int i = 0; i < LOG_LEVELS; i++) {
        CHECK(log_level_find(str_from(names[i]), &level));
        CHECK_INT(level, i);
    }
    CHECK(log_level_find(STR("warn"), &level));
    CHECK_INT(level, LOG_LEVEL_WARNING);
    CHECK(!log_level_find(STR("loud"), &level));
    CHECK_INT(level, LOG_LEVEL_WARNING);
}

static struct buf fields_seen = BUF_INIT(BUF_NO_LIMIT);

static void remember_record(void *context, enum log_level level, int64_t ns, struct str text,
                            const struct log_field *fields, size_t count)
{
    remember(context, level, ns, text);
    for (size_t i = 0; i < count; i++)
        buf_printf(&fields_seen, "[%s:%s]", fields[i].name, fields[i].text);
}

TEST(fields_are_kept_apart_from_the_message_by_a_sink_that_can)
{
    static const struct log records = { remember, noon, mask, &seen, remember_record };
    static const struct log_field fields[] = { { "rule", "a" }, { "id", "hunter2\n" } };

    log_use(&records);
    errno = ENOENT;
    log_fields(LOG_LEVEL_INFO, "x rule=b hunter2\n\x1b", fields, 2);
    CHECK_INT(errno, ENOENT);
    CHECK_INT(seen.ns, noon());
    CHECK_STR(buf_text(&seen.text), "x rule=b *******\\n\\x1b");
    CHECK_STR(buf_text(&fields_seen), "[rule:a][id:*******]");
    log_fields(LOG_LEVEL_DEBUG, "not seen", fields, 2);
    CHECK_INT(seen.lines, 1);
    log_use(&log_to_seen);
    log_fields(LOG_LEVEL_WARNING, "x", fields, 1);
    CHECK_INT(seen.level, LOG_LEVEL_WARNING);
    CHECK_STR(buf_text(&seen.text), "x rule=a");
    buf_done(&seen.text);
    buf_done(&fields_seen);
}
