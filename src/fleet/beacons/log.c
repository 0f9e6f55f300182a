/* log - lines of log files that match a pattern. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/base/utf8.h"
#include "fleet/beacons/kind.h"
#include "fleet/beacons/tail.h"

#define ARGS struct log_args
/* Files of one beacon. */
#define FILES_MAX 32
/* Lines that one look reports; the last one says how many more there were. */
#define LINES_MAX 20
/* Bytes of a file in one look; the rest comes at the next one. */
#define BYTES_MAX ((size_t)1 << 20)

struct log_args {
    struct beacon_common common;
    const struct value *files;       /* path to pattern */
    const struct matcher **matchers; /* of each path */
};

static const struct param log_params[] = {
    PARAM("files", MAP, ARGS, files, "paths of log files, each with a regular expression",
          .flags = PARAM_REQUIRED | PARAM_FILLED),
    BEACON_COMMON(ARGS, common, "10s"),
    { 0 },
};

/* Where reading goes on. */
struct log_memory {
    struct {
        int fd; /* + 1; 0: not open */
        off_t offset;
        struct tail tail;
    } files[FILES_MAX];
    bool began;
};

static void check_log(struct arena *arena, void *args, const struct value *given,
                      struct diags *diags)
{
    struct log_args *want = args;
    const struct value_map *files = want->files->map;

    (void)given;
    if (files->count > FILES_MAX) {
        (void)value_diag(diags, want->files, "more than %d files", FILES_MAX);
        return;
    }
    want->matchers = ARENA_ARRAY(arena, const struct matcher *, files->count);
    for (size_t i = 0; i < files->count; i++) {
        const struct value *path = &files->pairs[i].key, *pattern = &files->pairs[i].value;
        struct err err;

        if (path->kind != VALUE_STR || path->s.n == 0 || path->s.p[0] != '/')
            (void)value_diag(diags, path, "expected an absolute path");
        else if (pattern->kind != VALUE_STR)
            (void)value_diag(diags, pattern, "expected a regular expression, got %s",
                             value_describe(pattern));
        else if (matcher_new(arena, pattern->s, 0, &want->matchers[i], NULL, &err) < 0)
            (void)value_diag(diags, pattern, "%s", err.text);
    }
}

/* --- reading ---------------------------------------------------------------------- */

/* The file that has the name now; -1: none. */
static int open_watched_log(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static bool is_log_unrotated(int fd, const char *path)
{
    struct stat open_one, named;

    return fstat(fd, &open_one) == 0 && stat(path, &named) == 0 &&
           open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev;
}

/* Data of an event are UTF-8; other bytes are shown as what they are not. */
static struct str clean_line(struct arena *arena, struct str line)
{
    AUTO_BUF struct buf text = BUF_INIT(4 * TAIL_LINE_MAX);

    while (line.n > 0)
        utf8_add(&text, utf8_next(&line));
    return buf_copy(&text, arena);
}

static void count_more(struct beacon_look *look, struct beacon_readings *ret)
{
    const struct value *data = &ret->list.p[ret->list.n - 1].data;

    value_map_set(look->arena, data->map, value_text("more"),
                  value_int(value_get_int(data, "more", 0) + 1));
}

static void report_line(struct beacon_look *look, const char *path, struct str line,
                        struct beacon_readings *ret)
{
    struct value_map *data = value_map_new(look->arena, 2);
    const struct beacon_reading reading = { .key = path,
                                            .happened = true,
                                            .data = value_map(data) };

    value_map_set(look->arena, data, value_text("path"), value_text(path));
    value_map_set(look->arena, data, value_text("line"), value_str(clean_line(look->arena, line)));
    VEC_PUSH_IN(look->arena, &ret->list, reading);
}

struct reader {
    struct beacon_look *look;
    const char *path;
    const struct matcher *matcher;
    struct beacon_readings *ret;
};

static int match_log_line(void *self, struct str line, struct err *err)
{
    const struct reader *reader = self;
    bool found = false;

    if (matcher_find(reader->matcher, line, 0, NULL, &found, err) < 0)
        return err_wrap(err, "'%s'", reader->path);
    if (found && reader->ret->list.n >= LINES_MAX)
        count_more(reader->look, reader->ret);
    else if (found)
        report_line(reader->look, reader->path, line, reader->ret);
    return 0;
}

/* Reads the lines added since the last check. A shorter file is read from its beginning. */
static int read_appended_log(const struct reader *reader, int fd, off_t *offset, struct tail *tail,
                             struct err *err)
{
    char *room = arena_alloc(reader->look->arena, BYTES_MAX);
    struct stat info;
    ssize_t n;

    if (fstat(fd, &info) < 0)
        return err_sys(err, errno, "look at '%s'", reader->path);
    if (info.st_size < *offset) {
        *offset = 0;
        tail_clear(tail);
    }
    n = pread(fd, room, BYTES_MAX, *offset);
    if (n < 0)
        return err_sys(err, errno, "read '%s'", reader->path);
    *offset += n;
    return tail_feed(tail, (struct str){ room, (size_t)n }, match_log_line,
                     (void *)(uintptr_t)reader, err);
}

static int follow_log(const struct reader *reader, struct log_memory *memory, size_t i,
                      struct err *err)
{
    const bool was_open = memory->files[i].fd > 0;

    if (was_open && read_appended_log(reader, memory->files[i].fd - 1, &memory->files[i].offset,
                                      &memory->files[i].tail, err) < 0)
        return -1;
    if (was_open && is_log_unrotated(memory->files[i].fd - 1, reader->path))
        return 0;
    if (was_open) { /* rotated: the rest of the old one has been read */
        (void)close(memory->files[i].fd - 1);
        tail_clear(&memory->files[i].tail);
    }
    memory->files[i].fd = open_watched_log(reader->path) + 1;
    memory->files[i].offset = 0;
    if (memory->files[i].fd == 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "open '%s'", reader->path);
    if (memory->began)
        return read_appended_log(reader, memory->files[i].fd - 1, &memory->files[i].offset,
                                 &memory->files[i].tail, err);
    memory->files[i].offset = lseek(memory->files[i].fd - 1, 0, SEEK_END);
    return memory->files[i].offset < 0 ? err_sys(err, errno, "read '%s'", reader->path) : 0;
}

static int observe_log(struct beacon_look *look, const void *args, struct beacon_readings *ret,
                       struct err *err)
{
    const struct log_args *want = args;
    struct log_memory *memory = look->memory;
    int result = 0;

    for (size_t i = 0; i < want->files->map->count && result == 0; i++) {
        const struct reader reader = { look, want->files->map->pairs[i].key.s.p, want->matchers[i],
                                       ret };

        result = follow_log(&reader, memory, i, err);
    }
    memory->began = true;
    return result;
}

static void say_log(struct arena *arena, const struct beacon_change *change, struct value_map *data)
{
    const struct value_map *more = change->reading->data.map;

    for (size_t i = 0; i < more->count; i++)
        value_map_set(arena, data, more->pairs[i].key, more->pairs[i].value);
}

static void watch_log(struct arena *arena, const void *args, struct beacon_paths *ret)
{
    const struct log_args *want = args;

    for (size_t i = 0; i < want->files->map->count; i++)
        VEC_PUSH_IN(arena, &ret->list, want->files->map->pairs[i].key.s.p);
}

static void forget_log(void *memory)
{
    struct log_memory *log = memory;

    for (size_t i = 0; i < FILES_MAX; i++) {
        if (log->files[i].fd > 0)
            (void)close(log->files[i].fd - 1);
        tail_clear(&log->files[i].tail);
    }
}

const struct beacon_kind beacon_kind_log = {
    .name = "log",
    .summary =
        "Lines of log files that match: `path`, `line`, and `more` when a look found more than 20. "
        "The first look begins at the end of "
        "each file; rotated and truncated files are followed",
    .params = log_params,
    .args_size = sizeof(struct log_args),
    .memory_size = sizeof(struct log_memory),
    .check = check_log,
    .observe = observe_log,
    .say = say_log,
    .watch = watch_log,
    .forget = forget_log,
};
