/*
 * logs_test - for the tests of logs/: what a folder of segments holds, as text.
 *
 * Each line is "seq source[!] flags|text": "!" is stderr, flags are + (continues),
 * ~ (open) and ? (reports a loss).
 */
#ifndef TESTS_UNIT_KEPLER_LOGS_LOGS_TEST_H
#define TESTS_UNIT_KEPLER_LOGS_LOGS_TEST_H

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "test.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "kepler/logs/log_reader.h"
#include "kepler/logs/log_source.h"
#include "kepler/logs/log_store.h"
#include "core/sys/path.h"

#define ALL UINT64_MAX

static struct arena arena = ARENA_INIT;
static struct err err;

static inline void show_line(const struct log_line *line, struct buf *out)
{
    buf_printf(out, "%" PRIu64 " %s%s%s%s ", line->seq, line->service, line->hook[0] ? "." : "",
               line->hook, line->stream == SEGMENT_STDERR ? "!" : "");
    buf_printf(out, "%s%s%s|", line->continues ? "+" : "", line->open ? "~" : "",
               line->lost ? "?" : "");
    buf_add_str(out, line->text);
    buf_add_char(out, '\n');
}

/* The lines left to read. */
static inline const char *read_rest(struct log_reader *reader)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const struct log_line *line;

    for (;;) {
        CHECK_INT(log_reader_next(reader, &line, &err), 0);
        if (!line)
            break;
        show_line(line, &out);
    }
    return buf_copy(&out, &arena).p;
}

/* The last `tail` lines that pass the filter. */
static inline const char *read_lines(const char *folder, const struct log_filter *filter,
                                     uint64_t tail)
{
    struct log_reader *reader;
    const char *text;

    CHECK_INT(log_reader_open(folder, filter, &reader, &err), 0);
    if (tail != ALL)
        CHECK_INT(log_reader_tail(reader, tail, &err), 0);
    text = read_rest(reader);
    log_reader_free(reader);
    return text;
}

static inline uint64_t count_lines_of(const char *folder, const struct log_filter *filter)
{
    struct log_reader *reader;
    const struct log_line *line;
    uint64_t count = 0;

    CHECK_INT(log_reader_open(folder, filter, &reader, &err), 0);
    for (;;) {
        CHECK_INT(log_reader_next(reader, &line, &err), 0);
        if (!line)
            break;
        count++;
    }
    log_reader_free(reader);
    return count;
}

static inline const char *log_folder(void)
{
    return path_join(&arena, test_folder(), "logs");
}

static inline struct log_store *open_store(const char *folder,
                                           const struct log_store_options *options)
{
    struct log_store *store;

    if (log_store_open(folder, options, &store, &err) < 0)
        CHECK_STR(err.text, "");
    return store;
}

static inline struct log_source *open_source(struct log_store *store, const char *service)
{
    struct log_source *source;

    CHECK_INT(log_source_new(store, service, NULL, SEGMENT_STDOUT, true, &source, &err), 0);
    return source;
}

/* Write whole lines as `service`, and flush. */
static inline void write_lines(struct log_store *store, const char *service, const char *text)
{
    struct log_source *source = open_source(store, service);

    log_source_add(source, str_from(text));
    log_source_free(source);
    CHECK_INT(log_store_flush(store, &err), 0);
}

static inline void clean_all(struct log_store *store)
{
    bool more = true;

    while (more)
        CHECK_INT(log_store_clean(store, &more, &err), 0);
}

#endif
