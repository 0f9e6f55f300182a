#include "kepler/daemon/stream.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/client.h"
#include "kepler/daemon/daemon.h"
#include "kepler/logs/log_query.h"
#include "kepler/logs/log_reader.h"
#include "kepler/logs/log_sql.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"

/* For an SQL query, while the loop waits for it. */
#define HURRY_TIME (100 * CLOCK_MS)

/* A bundle that was read and not sent. */
struct bundle {
    struct arena arena;
    struct value_list *lines;
};

struct stream {
    struct call *call; /* NULL: no longer needed; freed when the worker is back */
    struct arena arena;
    const char *folder;
    struct log_filter filter;
    const char *clause; /* in SQL; NULL: none */
    bool follow, fresh;
    bool has_tail;
    uint64_t tail;
    bool bounded; /* to `left` lines */
    uint64_t left, before;
    bool has_lines; /* a line was read */

    bool stale; /* there may be something to read */
    bool away;  /* the worker has not finished */
    bool taken; /* but what it read was sent */
    struct background_task background_task;

    _Atomic bool hurry;            /* a caller waits for the worker */
    _Atomic(struct log_sql *) sql; /* instead of the reader; NULL: not open */

    /* Owned by the worker while it runs: */
    struct log_reader *reader;
    struct bundle bundle;
    bool more; /* after the bundle */
    bool failed;
    struct err err;
};

static const char *const *copy_names(struct arena *arena, const char *const *names, size_t count)
{
    const char **copy = ARENA_ARRAY(arena, const char *, count);

    for (size_t i = 0; i < count; i++)
        copy[i] = arena_strdup(arena, names[i]);
    return copy;
}

static bool match_query(void *self, const struct log_line *line)
{
    return log_query_match(self, line);
}

static void add_stream_query(struct stream *stream, const char *text)
{
    const struct log_query *query;
    struct err err;
    int rc =
        log_query_parse(&stream->arena, str_from(arena_strdup(&stream->arena, text)), &query, &err);

    assert(rc == 0);
    stream->filter.match = match_query;
    stream->filter.self = (void *)(uintptr_t)query;
}

struct stream *stream_new(const struct stream_options *options, struct call *call)
{
    struct stream *stream = mem_zalloc(sizeof(*stream));
    const struct log_filter *filter = &options->filter;
    const bool last = options->has_tail && !options->follow;

    stream->call = call;
    stream->folder = arena_strdup(&stream->arena, options->folder);
    stream->filter = *filter;
    stream->filter.services = copy_names(&stream->arena, filter->services, filter->service_count);
    stream->filter.hook = filter->hook ? arena_strdup(&stream->arena, filter->hook) : NULL;
    if (options->query && options->is_sql)
        stream->clause = arena_strdup(&stream->arena, options->query);
    else if (options->query)
        add_stream_query(stream, options->query);
    stream->follow = options->follow;
    stream->fresh = options->fresh;
    stream->has_tail = options->has_tail;
    stream->tail = options->tail;
    stream->bounded = options->has_head || last;
    stream->left = options->has_head ? options->head : options->tail;
    stream->before = stream->bounded || options->follow ? 0 : options->before;
    stream->stale = true;
    return stream;
}

static void destroy_stream(struct stream *stream)
{
    log_reader_free(stream->reader);
    log_sql_free(stream->sql);
    arena_done(&stream->bundle.arena);
    arena_done(&stream->arena);
    free(stream);
}

/* An SQL search may take its time, but must not delay others. */
static void hurry_worker(struct stream *stream)
{
    struct log_sql *sql;

    atomic_store(&stream->hurry, true);
    sql = atomic_load(&stream->sql);
    if (sql)
        log_sql_hurry(sql, HURRY_TIME);
}

void stream_free(struct stream *stream)
{
    if (stream && stream->away) {
        hurry_worker(stream);
        stream->call = NULL;
    } else if (stream) {
        destroy_stream(stream);
    }
}

/* --- reading ---------------------------------------------------------------------------- */

static struct value line_value(struct arena *arena, const struct log_line *line)
{
    struct value_list *list = value_list_new(arena, 7);
    const int64_t flags = (line->lost ? 1 : 0) | (line->continues ? 2 : 0) | (line->open ? 4 : 0);

    value_list_push(arena, list, value_int((int64_t)line->seq));
    value_list_push(arena, list, value_int(line->time));
    value_list_push(arena, list, value_text(arena_strdup(arena, line->service)));
    value_list_push(arena, list, value_text(arena_strdup(arena, line->hook)));
    value_list_push(arena, list, value_int(line->stream));
    value_list_push(arena, list, value_int(flags));
    value_list_push(arena, list, value_bytes(arena_str(arena, line->text)));
    return value_list(list);
}

static int open_sql(struct stream *stream)
{
    struct err *err = &stream->err;
    struct log_sql *sql;

    if (log_sql_open(stream->folder, &stream->filter, str_from(stream->clause), &sql, err) < 0)
        return -1;
    if (stream->follow)
        log_sql_keep_cleared(sql, stream->fresh);
    atomic_store(&stream->sql, sql);
    if (atomic_load(&stream->hurry))
        log_sql_hurry(sql, HURRY_TIME);
    return stream->has_tail ? log_sql_tail(sql, stream->tail, err) : 0;
}

static int open_stream_reader(struct stream *stream)
{
    struct err *err = &stream->err;

    if (log_reader_open(stream->folder, &stream->filter, &stream->reader, err) < 0)
        return -1;
    if (stream->follow)
        log_reader_keep_cleared(stream->reader, stream->fresh);
    return stream->has_tail ? log_reader_tail(stream->reader, stream->tail, err) : 0;
}

/* Lines newer than the request are not shown, so that the reply ends. If a writer is so fast that
 * all older lines are removed before they are read, newer ones are shown instead. */
static bool came_in_time(struct stream *stream, uint64_t seq)
{
    if (stream->before > 0 && !stream->has_lines && seq > stream->before)
        stream->before = seq + STREAM_LATE_LINES;
    return stream->before == 0 || seq < stream->before;
}

/* The next line to send; NULL: none now. */
static int next_stream_line(struct stream *stream, const struct log_line **ret_line)
{
    *ret_line = NULL;
    if (stream->bounded && stream->left == 0)
        return 0;
    if (stream->clause ? log_sql_next(stream->sql, ret_line, &stream->err) < 0
                       : log_reader_next(stream->reader, ret_line, &stream->err) < 0)
        return -1;
    if (*ret_line && !came_in_time(stream, (*ret_line)->seq))
        *ret_line = NULL;
    stream->has_lines |= *ret_line != NULL;
    return 0;
}

/* Each bundle has its own time for SQL. */
static int prepare_reading(struct stream *stream)
{
    if (!stream->clause)
        return stream->reader ? 0 : open_stream_reader(stream);
    if (!stream->sql && open_sql(stream) < 0)
        return -1;
    log_sql_extend(stream->sql);
    return 0;
}

static int read_stream_lines(struct stream *stream)
{
    struct bundle *bundle = &stream->bundle;
    const struct log_line *line;

    if (prepare_reading(stream) < 0)
        return -1;
    while (bundle->lines->count < STREAM_LINES_MAX && bundle->arena.used < STREAM_BYTES_MAX) {
        if (next_stream_line(stream, &line) < 0)
            return -1;
        if (!line) {
            stream->more = false;
            break;
        }
        value_list_push(&bundle->arena, bundle->lines, line_value(&bundle->arena, line));
        stream->left -= stream->bounded;
    }
    return 0;
}

static void read_line_bundle(struct stream *stream)
{
    stream->bundle.lines = value_list_new(&stream->bundle.arena, 0);
    stream->more = true;
    if (read_stream_lines(stream) < 0) {
        if (stream->clause)
            (void)err_wrap(&stream->err, "the filter '%s'", stream->clause);
        stream->failed = true;
        stream->more = false;
    }
}

static void read_in_worker(struct background_task *background_task)
{
    read_line_bundle(container_of(background_task, struct stream, background_task));
}

/* --- sending ---------------------------------------------------------------------------- */

static void send_bundle(struct stream *stream)
{
    struct bundle *bundle = &stream->bundle;
    struct value_map *body = value_map_new(&bundle->arena, 1);

    if (bundle->lines->count > 0) {
        value_map_set(&bundle->arena, body, value_text("lines"), value_list(bundle->lines));
        call_event(stream->call, "lines", value_map(body));
    }
    arena_done(&bundle->arena);
    *bundle = (struct bundle){ 0 };
    stream->stale = stream->stale || stream->more;
}

static void on_bundle_read(struct background_task *background_task)
{
    struct stream *stream = container_of(background_task, struct stream, background_task);
    const bool taken = stream->taken;

    stream->away = false;
    stream->taken = false;
    if (!stream->call) {
        destroy_stream(stream);
        return;
    }
    if (!taken)
        send_bundle(stream);
    call_streamed(stream->call);
}

static bool has_stream_room(const struct stream *stream)
{
    return !connection_is_busy(&stream->call->client->connection); /* `drained` continues */
}

void stream_renew(struct stream *stream)
{
    stream->stale = stream->stale || stream->follow;
}

void stream_pump(struct stream *stream)
{
    struct daemon *daemon = stream->call->daemon;

    if (stream->away || !stream->stale || stream->failed || !has_stream_room(stream))
        return;
    stream->stale = false;
    stream->away = true;
    background_task_begin(stream->clause ? &daemon->searchers : &daemon->background_tasks,
                          &stream->background_task, read_in_worker, on_bundle_read);
}

bool stream_has_more(const struct stream *stream)
{
    return stream->away || (stream->stale && !stream->failed);
}

/* A search may queue behind others: the loop does not wait. */
static bool drain_sql(struct stream *stream)
{
    hurry_worker(stream);
    return !stream->away || stream->taken ||
           background_task_wait_for(&stream->background_task, 2 * HURRY_TIME);
}

void stream_drain(struct stream *stream)
{
    if (stream->clause && !drain_sql(stream))
        return;
    if (stream->away && !stream->taken) {
        background_task_wait(&stream->background_task);
        stream->taken = true;
        send_bundle(stream);
    }
    for (int i = 0;
         i < STREAM_DRAIN_MAX && stream->stale && !stream->failed && has_stream_room(stream); i++) {
        stream->stale = false;
        read_line_bundle(stream);
        send_bundle(stream);
    }
}

bool stream_follows(const struct stream *stream)
{
    return stream->follow;
}

bool stream_is_done(const struct stream *stream)
{
    return !stream_has_more(stream) && (!stream->follow || (stream->bounded && stream->left == 0));
}

const struct err *stream_error(const struct stream *stream)
{
    return stream->failed && !stream->away ? &stream->err : NULL;
}
