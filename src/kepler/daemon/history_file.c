#include "kepler/daemon/history_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/data/json.h"
#include "core/data/record.h"
#include "kepler/config/config.h"
#include "kepler/engine/engine.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* Rewritten when it has this many times the lines worth keeping. */
#define LONG_FACTOR 8

/* --- writing ---------------------------------------------------------------------------- */

/* A line of the file. */
struct history_file_link {
    const char *service;
    uint64_t number;
};

struct history_file_line {
    const char *service, *cause;
    uint64_t number;
    enum status from, to;
    int64_t time; /* wall, nanoseconds */
    bool has_by;
    struct history_file_link by; /* the change of another service that caused it */
};

/* clang-format off */
#define STATUS(key, field) RECORD(key, WORD, ARGS, field, RECORD_REQUIRED, .words = status_words, .word_count = STATUSES)
#define ARGS struct history_file_link
static const struct record_field link_fields[] = {
    RECORD("service", TEXT, ARGS, service, RECORD_REQUIRED),
    RECORD("number",  INT,  ARGS, number,  RECORD_REQUIRED),
    { 0 },
};
static const struct record_type link_type = RECORD_TYPE("link", ARGS, link_fields, 0);
#undef ARGS
#define ARGS struct history_file_line
static const struct record_field line_fields[] = {
    RECORD("service", TEXT,   ARGS, service, RECORD_REQUIRED),
    RECORD("number",  INT,    ARGS, number,  RECORD_REQUIRED),
    STATUS("from", from),
    STATUS("to", to),
    RECORD("time",    INT,    ARGS, time,    RECORD_REQUIRED, RECORD_RANGE(0, INT64_MAX)),
    RECORD("cause",   TEXT,   ARGS, cause,   RECORD_REQUIRED),
    RECORD("by",      STRUCT, ARGS, by,      RECORD_OMIT, RECORD_GIVEN(ARGS, has_by), .inner = &link_type),
    { 0 },
};
static const struct record_type line_type = RECORD_TYPE("change", ARGS, line_fields, 0);
#undef ARGS
/* clang-format on */

static const char *find_history_name(const struct history_file *history_file, uint32_t service)
{
    return engine_get(history_file->engine, service)->config->name;
}

static void print_history_line(const struct history_file *history_file, uint32_t service,
                               const struct history_entry *entry, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct history_file_line line = {
        .service = find_history_name(history_file, service),
        .number = entry->number,
        .from = entry->from,
        .to = entry->to,
        .time = entry->wall,
        .cause = entry->cause,
        .has_by = entry->by.given,
    };
    struct value v;
    struct err ignored; /* only a full buffer, and this one has no limit */

    if (line.has_by)
        line.by = (struct history_file_link){ find_history_name(history_file, entry->by.service),
                                              entry->by.number };
    v = record_value(&arena, &line_type, &line);
    (void)json_print(out, &v, JSON_STYLE_COMPACT, &ignored);
    buf_add_char(out, '\n');
}

/* Appends the entries of a service's history from `number` on. Returns how many. */
static size_t print_from(const struct history_file *history_file, uint32_t service, uint64_t number,
                         struct buf *out)
{
    const struct history *history = &engine_get(history_file->engine, service)->history;
    const struct history_entry *entry;
    size_t lines = 0;

    if (history->count > HISTORY_LENGTH && number < history->count - HISTORY_LENGTH)
        number = history->count - HISTORY_LENGTH;
    for (; number < history->count; number++) {
        entry = history_get(history, number);
        if (!entry)
            continue;
        print_history_line(history_file, service, entry, out);
        lines++;
    }
    return lines;
}

static void write_anew(struct history_file *history_file)
{
    const struct fs_replace_options how = { .attr = { 0600, FS_KEEP, FS_KEEP },
                                            .sync = FS_NO_SYNC };
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err ignored; /* it stays as long as it is, and is tried again */

    history_file->lines = 0;
    for (uint32_t i = 0; i < engine_count(history_file->engine); i++) {
        history_file->lines += print_from(history_file, i, 0, &text);
        history_file->written[i] = engine_get(history_file->engine, i)->history.count;
    }
    fd_close(&history_file->fd);
    if (fs_replace(history_file->path, buf_view(&text), &how, &ignored) == 0)
        history_file->torn = false;
    history_file->fd =
        open(history_file->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void history_file_open(struct history_file *history_file, struct arena *arena, const char *folder,
                       const struct engine *engine)
{
    *history_file = (struct history_file){
        .path = path_join(arena, folder, HISTORY_FILE_FILE),
        .engine = engine,
        .written = ARENA_ARRAY(arena, uint64_t, engine_count(engine) + 1),
        .fd = -1,
        .pending = BUF_INIT(BUF_NO_LIMIT),
    };
    write_anew(history_file);
}

void history_file_close(struct history_file *history_file)
{
    if (!history_file->path)
        return;
    history_file_flush(history_file);
    fd_close(&history_file->fd);
    buf_done(&history_file->pending);
}

void history_file_note(struct history_file *history_file, uint32_t service)
{
    history_file->lines +=
        print_from(history_file, service, history_file->written[service], &history_file->pending);
    history_file->written[service] = engine_get(history_file->engine, service)->history.count;
}

void history_file_flush(struct history_file *history_file)
{
    struct buf *pending = &history_file->pending;
    size_t worth;
    ssize_t n;

    if (pending->n == 0)
        return;
    worth = (size_t)engine_count(history_file->engine) * HISTORY_LENGTH;
    if (history_file->lines > worth * LONG_FACTOR) {
        write_anew(history_file);
    } else if (history_file->fd >= 0) {
        n = write(history_file->fd, buf_text(pending), pending->n);
        if (n > 0)
            history_file->torn = (size_t)n < pending->n;
    }
    buf_clear(pending);
    if (history_file->torn)
        buf_add_char(pending, '\n');
}

/* --- reading ---------------------------------------------------------------------------- */

struct history_reading {
    struct arena *arena;
    struct map places; /* name to a page */
    VEC(struct history_page *) pages;
};

static struct history_page *find_page(struct history_reading *reading, struct str name)
{
    struct history_page *page = map_find(&reading->places, name);

    if (page)
        return page;
    page = ARENA_NEW(reading->arena, struct history_page);
    page->name = arena_strndup(reading->arena, name.p, name.n);
    page->place = (uint32_t)reading->pages.n;
    page->history = ARENA_NEW(reading->arena, struct history);
    VEC_PUSH_IN(reading->arena, &reading->pages, page);
    (void)map_set(&reading->places, str_from(page->name), page);
    return page;
}

static void read_history_line(struct history_reading *reading, const struct history_file_line *line)
{
    struct history_entry entry = {
        .from = line->from, .to = line->to, .number = line->number, .wall = line->time
    };

    if (line->has_by)
        entry.by =
            (struct history_link){ true, find_page(reading, str_from(line->by.service))->place,
                                   line->by.number };
    history_put(find_page(reading, str_from(line->service))->history, &entry, line->cause);
}

int history_file_load(struct arena *arena, const char *folder, struct history_book *ret_book,
                      struct err *err)
{
    struct history_reading reading = { .arena = arena, .places = MAP_INIT_IN(arena) };
    struct str text, row;
    struct err ignored;

    if (fs_read(arena, path_join(arena, folder, HISTORY_FILE_FILE), HISTORY_FILE_FILE_MAX, &text,
                err) < 0)
        return -1;
    while (text.p && text.n > 0) {
        AUTO_ARENA struct arena scratch = ARENA_INIT;
        struct history_file_line line;
        struct value v;

        row = str_cut(&text, '\n');
        if (json_decode(&scratch, row, &v, &ignored) == 0 &&
            record_read(&scratch, &line_type, 0, &v, &line, &ignored) == 0)
            read_history_line(&reading, &line);
    }
    *ret_book = (struct history_book){ .pages = reading.pages.p, .count = reading.pages.n };
    return 0;
}
