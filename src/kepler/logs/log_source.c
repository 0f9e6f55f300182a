#include "kepler/logs/log_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "kepler/logs/log_store.h"
#include "kepler/logs/log_writer.h"
#include "core/sys/clock.h"

struct log_source {
    struct log_store *store;
    struct log_writer *writer;
    struct log_origin *origin;
    struct log_source *next, **back; /* the store's */
    bool keep, continues;
    char *begun; /* of an unfinished line */
    size_t begun_n, begun_cap;
    int64_t since; /* when its first byte came */
};

int log_source_new(struct log_store *store, const char *service, const char *hook,
                   enum segment_stream stream, bool keep, struct log_source **ret_source,
                   struct err *err)
{
    struct log_source **list = log_store_sources(store);
    struct log_origin *origin;
    struct log_source *source;

    if (log_writer_origin(log_store_writer(store), service, hook ? hook : "", stream, &origin,
                          err) < 0)
        return -1;
    source = mem_zalloc(sizeof(*source));
    source->store = store;
    source->writer = log_store_writer(store);
    source->origin = origin;
    source->keep = keep;
    source->next = *list;
    source->back = list;
    if (source->next)
        source->next->back = &source->next;
    *list = source;
    *ret_source = source;
    return 0;
}

void log_source_free(struct log_source *source)
{
    if (!source)
        return;
    log_source_end(source);
    *source->back = source->next;
    if (source->next)
        source->next->back = source->back;
    free(source->begun);
    free(source);
}

struct log_source *log_source_next(const struct log_source *source)
{
    return source->next;
}

int64_t log_source_due(const struct log_source *source)
{
    return source->begun_n ? clock_after(source->since, LOG_PARTIAL_DELAY) : CLOCK_NEVER;
}

static uint32_t count_source_lines(const char *p, size_t n)
{
    const char *end = p + n;
    uint32_t lines = 0;

    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
        p++;
        lines++;
    }
    return lines;
}

/* Keeps the beginning of a line for the next read. */
static void begin_line(struct log_source *source, const char *p, size_t n)
{
    if (n > source->begun_cap) {
        source->begun = mem_realloc(source->begun, n);
        source->begun_cap = n;
    }
    if (n > 0) {
        memcpy(source->begun, p, n);
        if (source->begun_n == 0) {
            source->since = clock_now();
            log_store_expect(source->store, clock_after(source->since, LOG_PARTIAL_DELAY));
        }
    } else if (source->begun_cap > LOG_READ_SIZE) { /* a long line was the exception */
        free(source->begun);
        source->begun = NULL;
        source->begun_cap = 0;
    }
    source->begun_n = n;
}

/* `n` bytes in the reserved room are one piece of lines. */
static void store_piece(struct log_source *source, size_t n, uint32_t lines, bool open)
{
    unsigned flags = (source->continues ? SEGMENT_CONTINUES : 0U) | (open ? SEGMENT_OPEN : 0U);

    source->continues = open;
    log_writer_commit(source->writer, source->origin, n, lines, flags);
    log_store_notify(source->store);
}

/* `n` bytes are in the reserved room `p`, including the kept beginning. */
static void take_source_bytes(struct log_source *source, const char *p, size_t n)
{
    const char *last = memrchr(p, '\n', n);
    const size_t whole = last ? (size_t)(last - p) + 1 : 0;

    if (whole > 0) {
        source->begun_n = 0;
        begin_line(source, p + whole, n - whole);
        store_piece(source, whole, count_source_lines(p, whole), false);
    } else if (n >= LOG_LINE_MAX) {
        begin_line(source, NULL, 0);
        store_piece(source, n, 1, true);
    } else {
        begin_line(source, p, n);
    }
}

/* Reserves room for the kept beginning and new bytes; returns the room left for the latter. */
static char *reserve_source_room(struct log_source *source, size_t *ret_left)
{
    const size_t left = LOG_LINE_MAX - source->begun_n;
    char *p;

    *ret_left = left < LOG_READ_SIZE ? left : LOG_READ_SIZE;
    p = log_writer_reserve(source->writer, source->origin, source->begun_n + *ret_left);
    if (source->begun_n)
        memcpy(p, source->begun, source->begun_n);
    return p;
}

int log_source_read(struct log_source *source, int fd, enum log_source_result *ret_result,
                    struct err *err)
{
    size_t left;
    char *p = reserve_source_room(source, &left);
    ssize_t n;

    do
        n = read(fd, p + source->begun_n, left);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN)
        return err_sys(err, errno, "read the output of '%s'", source->origin->service);
    if (n > 0 && source->keep)
        take_source_bytes(source, p, source->begun_n + (size_t)n);
    if (n > 0)
        *ret_result = (size_t)n == left ? LOG_SOURCE_DATA : LOG_SOURCE_ALL;
    else
        *ret_result = n < 0 ? LOG_SOURCE_LATER : LOG_SOURCE_END;
    return 0;
}

void log_source_add(struct log_source *source, struct str bytes)
{
    if (!source->keep)
        return;
    while (bytes.n > 0) {
        size_t left, n;
        char *p = reserve_source_room(source, &left);

        n = bytes.n < left ? bytes.n : left;
        memcpy(p + source->begun_n, bytes.p, n);
        take_source_bytes(source, p, source->begun_n + n);
        bytes = str_from_offset(bytes, n);
    }
}

static void store_begun(struct log_source *source, bool open)
{
    size_t left, n = source->begun_n;

    if (n > 0) {
        (void)reserve_source_room(source, &left);
        begin_line(source, NULL, 0);
        store_piece(source, n, 1, open);
    }
}

void log_source_flush(struct log_source *source)
{
    store_begun(source, true);
}

void log_source_end(struct log_source *source)
{
    store_begun(source, false);
    source->continues = false;
}
