#include "logs_test.h"

#include <stdio.h>

#include "kepler/logs/log_writer.h"
#include "core/sys/clock.h"

static struct log_store *store;
static struct log_source *source;

static const char *begin(void)
{
    const char *folder = log_folder();

    store = open_store(folder, NULL);
    source = open_source(store, "web");
    return folder;
}

static const char *finish(const char *folder)
{
    log_source_free(source);
    log_store_free(store);
    return read_lines(folder, NULL, ALL);
}

static void add(const char *text)
{
    log_source_add(source, str_from(text));
}

TEST(bytes_become_lines_however_they_are_split)
{
    const char *folder = begin();

    add("one\ntw");
    add("o");
    add("\n\nthr");
    add("ee\n");
    CHECK_STR(finish(folder), "1 web |one\n2 web |two\n3 web |\n4 web |three\n");
}

TEST(a_line_may_hold_any_bytes)
{
    const char *folder = begin();
    struct log_reader *reader;
    const struct log_line *line;

    log_source_add(source, str_bytes("a\0b\xff\r\n", 6));
    log_source_free(source);
    log_store_free(store);
    CHECK_INT(log_reader_open(folder, NULL, &reader, &err), 0);
    CHECK_INT(log_reader_next(reader, &line, &err), 0);
    CHECK(str_eq(line->text, str_bytes("a\0b\xff\r", 5)));
    log_reader_free(reader);
}

TEST(an_unfinished_line_is_stored_when_the_pipe_ends)
{
    const char *folder = begin();

    add("one\ntwo");
    log_source_end(source);
    add("three\n");
    CHECK_STR(finish(folder), "1 web |one\n2 web |two\n3 web |three\n");
}

TEST(an_unfinished_line_is_stored_after_a_while_and_marked)
{
    const char *folder = begin();

    clock_fake(CLOCK_SECOND, CLOCK_SECOND);
    add("password: ");
    CHECK(log_store_due(store) == CLOCK_SECOND + LOG_PARTIAL_DELAY);
    clock_turn(LOG_PARTIAL_DELAY - 1);
    log_store_tick(store);
    CHECK_STR(read_lines(folder, NULL, ALL), "");
    clock_turn(1);
    log_store_tick(store); /* into the block */
    clock_turn(LOG_STORE_FLUSH_INTERVAL);
    log_store_tick(store); /* to disk */
    CHECK_STR(read_lines(folder, NULL, ALL), "1 web ~|password: \n");
    CHECK(log_store_due(store) == CLOCK_NEVER);
    add("secret\nok\n");
    CHECK_STR(finish(folder), "1 web ~|password: \n2 web +|secret\n3 web |ok\n");
}

TEST(a_line_at_the_limit_is_whole_and_a_longer_one_is_cut)
{
    const char *folder = begin();
    char *text = arena_alloc(&arena, 2 * LOG_LINE_MAX + 2);
    struct log_reader *reader;
    const struct log_line *line;

    memset(text, 'x', 2 * LOG_LINE_MAX + 2);
    text[LOG_LINE_MAX - 1] = '\n'; /* a line and its end: LOG_LINE_MAX */
    text[2 * LOG_LINE_MAX + 1] = '\n';
    log_source_add(source, str_bytes(text, 2 * LOG_LINE_MAX + 2));
    log_source_free(source);
    log_store_free(store);
    CHECK_INT(log_reader_open(folder, NULL, &reader, &err), 0);
    CHECK_INT(log_reader_next(reader, &line, &err), 0);
    CHECK_INT(line->text.n, LOG_LINE_MAX - 1);
    CHECK(!line->open && !line->continues);
    CHECK_INT(log_reader_next(reader, &line, &err), 0);
    CHECK_INT(line->text.n, LOG_LINE_MAX);
    CHECK(line->open && !line->continues);
    CHECK_INT(log_reader_next(reader, &line, &err), 0);
    CHECK_INT(line->text.n, 1);
    CHECK(!line->open && line->continues);
    CHECK_INT(log_reader_next(reader, &line, &err), 0);
    CHECK(!line);
    log_reader_free(reader);
}

TEST(a_pipe_is_read_until_it_ends)
{
    const char *folder = begin();
    enum log_source_result result;
    int ends[2];

    CHECK_INT(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    CHECK_INT(log_source_read(source, ends[0], &result, &err), 0);
    CHECK_INT(result, LOG_SOURCE_LATER);
    CHECK_INT(write(ends[1], "one\ntwo", 7), 7);
    CHECK_INT(log_source_read(source, ends[0], &result, &err), 0);
    CHECK_INT(result, LOG_SOURCE_ALL);
    (void)close(ends[1]);
    CHECK_INT(log_source_read(source, ends[0], &result, &err), 0);
    CHECK_INT(result, LOG_SOURCE_END);
    log_source_end(source);
    (void)close(ends[0]);
    CHECK_INT(log_source_read(source, ends[0], &result, &err), -1);
    CHECK_HAS(err.text, "read the output of 'web': Bad file descriptor");
    CHECK_STR(finish(folder), "1 web |one\n2 web |two\n");
}

TEST(unstored_output_is_read_and_discarded)
{
    const char *folder = begin();
    struct log_source *quiet;
    enum log_source_result result;
    int ends[2];

    CHECK_INT(log_source_new(store, "web", NULL, SEGMENT_STDERR, false, &quiet, &err), 0);
    CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
    CHECK_INT(write(ends[1], "secret\n", 7), 7);
    CHECK_INT(log_source_read(quiet, ends[0], &result, &err), 0);
    CHECK_INT(result, LOG_SOURCE_ALL);
    log_source_add(quiet, STR("more\n"));
    log_source_free(quiet);
    (void)close(ends[0]);
    (void)close(ends[1]);
    add("seen\n");
    CHECK_STR(finish(folder), "1 web |seen\n");
}

TEST(thousands_of_silent_sources_need_no_memory)
{
    const char *folder = begin();
    enum log_source_result result;
    char name[SEGMENT_NAME_MAX + 1];
    int ends[2];

    CHECK_INT(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    for (int i = 0; i < 3000; i++) {
        struct log_source *silent;

        (void)snprintf(name, sizeof(name), "%0*d", SEGMENT_NAME_MAX, i);
        CHECK_INT(log_source_new(store, name, name, SEGMENT_STDOUT, true, &silent, &err), 0);
        CHECK_INT(log_source_read(silent, ends[0], &result, &err), 0);
        CHECK_INT(result, LOG_SOURCE_LATER);
        log_source_free(silent);
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
    add("heard\n");
    CHECK_STR(finish(folder), "1 web |heard\n");
}

TEST(a_long_name_is_refused_with_the_limit)
{
    char name[SEGMENT_NAME_MAX + 2];
    struct log_source *none;

    (void)begin();
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    CHECK_INT(log_source_new(store, name, NULL, SEGMENT_STDOUT, true, &none, &err), -1);
    CHECK_STR(err.text, "the name of a log source exceeds the limit of 255 bytes");
    log_source_free(source);
    log_store_free(store);
}
