#include "kepler/daemon/chronicle.h"

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

/* Written anew when it has this many times the lines that are worth keeping. */
#define LONG_FACTOR 8

/* --- writing ---------------------------------------------------------------------------- */

/* A line of the file. */
struct chronicle_link {
    const char *service;
    uint64_t number;
};

struct chronicle_line {
    const char *service, *cause;
    uint64_t number;
    enum status from, to;
    int64_t time; /* wall, nanoseconds */
    bool has_by;
    struct chronicle_link by; /* the change of another service that caused it */
};

/* clang-format off */
#define STATUS(key, field) RECORD(key, WORD, ARGS, field, RECORD_REQUIRED, .words = status_words, .word_count = STATUSES)
#define ARGS struct chronicle_link
static const struct record_field link_fields[] = {
    RECORD("service", TEXT, ARGS, service, RECORD_REQUIRED),
    RECORD("number",  INT,  ARGS, number,  RECORD_REQUIRED),
    { 0 },
};
static const struct record_type link_type = RECORD_TYPE("link", ARGS, link_fields, 0);
#undef ARGS
#define ARGS struct chronicle_line
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

static const char *name_of(const struct chronicle *chronicle, uint32_t service)
{
    return engine_get(chronicle->engine, service)->config->name;
}

static void print_entry(const struct chronicle *chronicle, uint32_t service,
                        const struct history_entry *entry, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct chronicle_line line = {
        .service = name_of(chronicle, service),
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
        line.by =
            (struct chronicle_link){ name_of(chronicle, entry->by.service), entry->by.number };
    v = record_value(&arena, &line_type, &line);
    (void)json_print(out, &v, JSON_STYLE_COMPACT, &ignored);
    buf_add_char(out, '\n');
}

/* What the history of a service holds from `number` on. Returns how many. */
static size_t print_from(const struct chronicle *chronicle, uint32_t service, uint64_t number,
                         struct buf *out)
{
    const struct history *history = &engine_get(chronicle->engine, service)->history;
    const struct history_entry *entry;
    size_t lines = 0;

    if (history->count > HISTORY_LENGTH && number < history->count - HISTORY_LENGTH)
        number = history->count - HISTORY_LENGTH;
    for (; number < history->count; number++) {
        entry = history_get(history, number);
        if (!entry)
            continue;
        print_entry(chronicle, service, entry, out);
        lines++;
    }
    return lines;
}

static void write_anew(struct chronicle *chronicle)
{
    const struct fs_replace_options how = { .attr = { 0600, FS_KEEP, FS_KEEP },
                                            .sync = FS_NO_SYNC };
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err ignored; /* it stays as long as it is, and is tried again */

    chronicle->lines = 0;
    for (uint32_t i = 0; i < engine_count(chronicle->engine); i++) {
        chronicle->lines += print_from(chronicle, i, 0, &text);
        chronicle->written[i] = engine_get(chronicle->engine, i)->history.count;
    }
    fd_close(&chronicle->fd);
    if (fs_replace(chronicle->path, buf_view(&text), &how, &ignored) == 0)
        chronicle->torn = false;
    chronicle->fd =
        open(chronicle->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void chronicle_open(struct chronicle *chronicle, struct arena *arena, const char *folder,
                    const struct engine *engine)
{
    *chronicle = (struct chronicle){
        .path = path_join(arena, folder, CHRONICLE_FILE),
        .engine = engine,
        .written = ARENA_ARRAY(arena, uint64_t, engine_count(engine) + 1),
        .fd = -1,
        .pending = BUF_INIT(BUF_NO_LIMIT),
    };
    write_anew(chronicle);
}

void chronicle_close(struct chronicle *chronicle)
{
    if (!chronicle->path)
        return;
    chronicle_flush(chronicle);
    fd_close(&chronicle->fd);
    buf_done(&chronicle->pending);
}

void chronicle_note(struct chronicle *chronicle, uint32_t service)
{
    chronicle->lines +=
        print_from(chronicle, service, chronicle->written[service], &chronicle->pending);
    chronicle->written[service] = engine_get(chronicle->engine, service)->history.count;
}

void chronicle_flush(struct chronicle *chronicle)
{
    struct buf *pending = &chronicle->pending;
    size_t worth;
    ssize_t n;

    if (pending->n == 0)
        return;
    worth = (size_t)engine_count(chronicle->engine) * HISTORY_LENGTH;
    if (chronicle->lines > worth * LONG_FACTOR) {
        write_anew(chronicle);
    } else if (chronicle->fd >= 0) {
        n = write(chronicle->fd, buf_text(pending), pending->n);
        if (n > 0)
            chronicle->torn = (size_t)n < pending->n;
    }
    buf_clear(pending);
    if (chronicle->torn)
        buf_add_char(pending, '\n');
}

/* --- reading ---------------------------------------------------------------------------- */

struct reading {
    struct arena *arena;
    struct map places; /* name to a page */
    VEC(struct history_page *) pages;
};

static struct history_page *find_page(struct reading *reading, struct str name)
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

static void read_line(struct reading *reading, const struct chronicle_line *line)
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

int chronicle_load(struct arena *arena, const char *folder, struct history_book *ret_book,
                   struct err *err)
{
    struct reading reading = { .arena = arena, .places = MAP_INIT_IN(arena) };
    struct str text, row;
    struct err ignored;

    if (fs_read(arena, path_join(arena, folder, CHRONICLE_FILE), CHRONICLE_FILE_MAX, &text, err) <
        0)
        return -1;
    while (text.p && text.n > 0) {
        AUTO_ARENA struct arena scratch = ARENA_INIT;
        struct chronicle_line line;
        struct value v;

        row = str_cut(&text, '\n');
        if (json_decode(&scratch, row, &v, &ignored) == 0 &&
            record_read(&scratch, &line_type, 0, &v, &line, &ignored) == 0)
            read_line(&reading, &line);
    }
    *ret_book = (struct history_book){ .pages = reading.pages.p, .count = reading.pages.n };
    return 0;
}
