#include "daemon/chronicle.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "data/json.h"
#include "data/value.h"
#include "config/config.h"
#include "engine/engine.h"
#include "sys/fd.h"
#include "sys/fs.h"
#include "sys/path.h"

/* Written anew when it has this many times the lines that are worth keeping. */
#define LONG_FACTOR 8

/* --- writing ---------------------------------------------------------------------------- */

static void set(struct arena *arena, struct value_map *map, const char *key, struct value v)
{
    value_map_set(arena, map, value_text(key), v);
}

static const char *name_of(const struct chronicle *chronicle, uint32_t service)
{
    return engine_get(chronicle->engine, service)->config->name;
}

static void print_entry(const struct chronicle *chronicle, uint32_t service,
                        const struct history_entry *entry, struct buf *out)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *map = value_map_new(&arena, 7), *by = value_map_new(&arena, 2);
    struct value line = value_map(map);
    struct err ignored; /* only a full buffer, and this one has no limit */

    set(&arena, map, "service", value_text(name_of(chronicle, service)));
    set(&arena, map, "number", value_int((int64_t)entry->number));
    set(&arena, map, "from", value_text(status_name(entry->from)));
    set(&arena, map, "to", value_text(status_name(entry->to)));
    set(&arena, map, "time", value_int(entry->wall));
    set(&arena, map, "cause", value_text(entry->cause));
    if (entry->by.given) {
        set(&arena, by, "service", value_text(name_of(chronicle, entry->by.service)));
        set(&arena, by, "number", value_int((int64_t)entry->by.number));
        set(&arena, map, "by", value_map(by));
    }
    (void)json_print(out, &line, JSON_STYLE_COMPACT, &ignored);
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

static bool read_status(const struct value *line, const char *key, enum status *ret)
{
    const struct value *v = value_get(line, key);

    return v && value_is(v, VALUE_STR) && status_parse(v->s, ret) == 0;
}

static bool read_number(const struct value *map, const char *key, int64_t *ret)
{
    const struct value *v = map ? value_get(map, key) : NULL;

    if (!v || !value_is(v, VALUE_INT) || v->i < 0)
        return false;
    *ret = v->i;
    return true;
}

static void read_line(struct reading *reading, const struct value *line)
{
    const struct value *service = value_get(line, "service"), *cause = value_get(line, "cause");
    const struct value *by = value_get(line, "by"), *other = by ? value_get(by, "service") : NULL;
    struct history_entry entry = { 0 };
    int64_t number, link;

    if (!service || !value_is(service, VALUE_STR) || !cause || !value_is(cause, VALUE_STR) ||
        !read_status(line, "from", &entry.from) || !read_status(line, "to", &entry.to) ||
        !read_number(line, "number", &number) || !read_number(line, "time", &entry.wall))
        return;
    entry.number = (uint64_t)number;
    if (other && value_is(other, VALUE_STR) && read_number(by, "number", &link))
        entry.by =
            (struct history_link){ true, find_page(reading, other->s)->place, (uint64_t)link };
    history_put(find_page(reading, service->s)->history, &entry, cause->s.p);
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
        struct value line;

        row = str_cut(&text, '\n');
        if (json_decode(&scratch, row, &line, &ignored) == 0 && value_is(&line, VALUE_MAP))
            read_line(&reading, &line);
    }
    *ret_book = (struct history_book){ .pages = reading.pages.p, .count = reading.pages.n };
    return 0;
}
