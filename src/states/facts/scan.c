#include "states/facts/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sys/fd.h"

/* Files are read in pieces, since kernel files do not report their size. */
#define CHUNK_SIZE 4096

int scan_open(struct scan *scan, struct arena *arena, const char *root, struct err *err)
{
    bool whole = !root || !root[0] || strcmp(root, "/") == 0;

    *scan = (struct scan){ .arena = arena, .root = whole ? "" : root };
    scan->folder = open(whole ? "/" : root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (scan->folder < 0)
        return err_sys(err, errno, "open the root '%s'", root);
    scan->facts = value_map_new(arena, 64);
    return 0;
}

void scan_close(struct scan *scan)
{
    fd_close(&scan->folder);
}

int scan_open_file(const struct scan *scan, const char *path, int flags)
{
    /* A device or pipe of that name must not block. */
    int all = flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NOCTTY | O_NONBLOCK);
    struct open_how how = { .flags = (unsigned)all, .resolve = RESOLVE_IN_ROOT };
    long fd;

    if (scan->root[0]) {
        fd = syscall(SYS_openat2, scan->folder, path, &how, sizeof(how));
        if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
            return (int)fd;
    }
    return openat(scan->folder, path, all);
}

struct str scan_read(const struct scan *scan, const char *path, size_t max)
{
    AUTO_FD int fd = scan_open_file(scan, path, O_RDONLY);
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct err ignored;
    size_t n = 1;

    if (fd < 0)
        return (struct str){ NULL, 0 };
    while (n > 0 && text.n < max) {
        size_t want = max - text.n < CHUNK_SIZE ? max - text.n : CHUNK_SIZE;

        if (fd_read(fd, buf_reserve(&text, want), want, &n, &ignored) < 0)
            return (struct str){ NULL, 0 };
        text.n += n;
        n = n < want ? 0 : n;
    }
    return buf_copy(&text, scan->arena);
}

struct str scan_line(const struct scan *scan, const char *path)
{
    struct str text = scan_read(scan, path, SCAN_LINE_MAX);
    struct str line = text.p ? str_trim(str_line_at(text, 0)) : text;

    return line.n > 0 ? line : (struct str){ NULL, 0 };
}

bool scan_exists(const struct scan *scan, const char *path)
{
    AUTO_FD int fd = scan_open_file(scan, path, O_PATH);

    return fd >= 0;
}

static struct str unquote_scanned_text(const struct scan *scan, struct str text)
{
    char *copy;
    size_t n = 0;

    if (text.n < 2 || (text.p[0] != '"' && text.p[0] != '\'') || text.p[text.n - 1] != text.p[0])
        return text;
    copy = arena_alloc(scan->arena, text.n);
    for (size_t i = 1; i + 1 < text.n; i++) {
        if (text.p[0] == '"' && text.p[i] == '\\' && i + 2 < text.n)
            i++;
        copy[n++] = text.p[i];
    }
    copy[n] = '\0';
    return (struct str){ copy, n };
}

struct str scan_field(const struct scan *scan, struct str text, const char *key, char separator)
{
    struct str rest = text;

    while (rest.p) {
        struct str value = str_cut(&rest, '\n');
        struct str name = str_trim(str_cut(&value, separator));

        if (value.p && str_is(name, key))
            return unquote_scanned_text(scan, str_trim(value));
    }
    return (struct str){ NULL, 0 };
}

int64_t scan_number(struct str text)
{
    int64_t number = 0;

    for (size_t i = 0; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text.p[i] - '0', &number))
            return 0;
    return number;
}

struct str scan_word(struct str *rest)
{
    struct str text = rest->p ? str_trim_left(*rest) : *rest;
    size_t n = 0;

    if (text.n == 0) {
        *rest = (struct str){ NULL, 0 };
        return *rest;
    }
    while (n < text.n && !strchr(" \t\n\v\f\r", text.p[n]))
        n++;
    n = n > 0 ? n : 1; /* a NUL is found by strchr too */
    *rest = str_from_offset(text, n);
    return str_slice(text, 0, n);
}

void scan_add(const struct scan *scan, struct value_map *map, const char *key, struct value value)
{
    value_map_set(scan->arena, map, value_text(key), value);
}

void scan_add_text(const struct scan *scan, struct value_map *map, const char *key, struct str text)
{
    if (text.p)
        scan_add(scan, map, key, value_str(arena_str(scan->arena, text)));
}

void scan_add_int(const struct scan *scan, struct value_map *map, const char *key, int64_t number)
{
    scan_add(scan, map, key, value_int(number));
}

struct value_map *scan_add_map(const struct scan *scan, struct value_map *map, const char *key)
{
    struct value_map *inner = value_map_new(scan->arena, 8);

    scan_add(scan, map, key, value_map(inner));
    return inner;
}

struct value_list *scan_add_list(const struct scan *scan, struct value_map *map, const char *key)
{
    struct value_list *inner = value_list_new(scan->arena, 8);

    scan_add(scan, map, key, value_list(inner));
    return inner;
}

void scan_push_text(const struct scan *scan, struct value_list *list, struct str text)
{
    value_list_push(scan->arena, list, value_str(arena_str(scan->arena, text)));
}
