#include "core/base/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"

#define FIRST_CAPACITY 64
/* Texts up to this size are formatted once, longer ones twice: first to learn the length. */
#define SHORT_TEXT_SIZE 256

/* Grow to `n` more bytes when there is not enough room. */
static char *grow_room(struct buf *buf, size_t n)
{
    size_t cap = buf->cap;

    if (n > buf->max || buf->n > buf->max - n) {
        buf->full = true;
        return NULL;
    }
    if (cap < FIRST_CAPACITY)
        cap = FIRST_CAPACITY;
    while (cap <= buf->n + n)
        cap = mem_product(cap, 2);
    buf->p = mem_realloc(buf->p, cap);
    buf->cap = cap;
    return buf->p + buf->n;
}

static inline char *find_buf_room(struct buf *buf, size_t n)
{
    /* one byte is kept for the NUL */
    if (n < buf->cap - buf->n && buf->n + n <= buf->max)
        return buf->p + buf->n;
    return grow_room(buf, n);
}

char *buf_reserve(struct buf *buf, size_t n)
{
    return find_buf_room(buf, n);
}

void buf_add(struct buf *buf, const void *bytes, size_t n)
{
    char *room;

    if (n == 0)
        return;
    room = find_buf_room(buf, n);
    if (!room)
        return;
    memcpy(room, bytes, n);
    room[n] = '\0';
    buf->n += n;
}

void buf_add_str(struct buf *buf, struct str text)
{
    buf_add(buf, text.p, text.n);
}

void buf_add_text(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_add_char(struct buf *buf, char c)
{
    char *room = find_buf_room(buf, 1);

    if (!room)
        return;
    room[0] = c;
    room[1] = '\0';
    buf->n++;
}

void buf_fill(struct buf *buf, char c, size_t n)
{
    char *room;

    if (n == 0)
        return;
    room = find_buf_room(buf, n);
    if (!room)
        return;
    memset(room, c, n);
    buf->n += n;
    buf->p[buf->n] = '\0';
}

void buf_vprintf(struct buf *buf, const char *fmt, va_list args)
{
    char text[SHORT_TEXT_SIZE];
    va_list again;
    char *room;
    int size;

    va_copy(again, args);
    size = vsnprintf(text, sizeof(text), fmt, args);
    room = size > 0 ? find_buf_room(buf, (size_t)size) : NULL;
    if (room && (size_t)size < sizeof(text))
        memcpy(room, text, (size_t)size + 1);
    else if (room)
        (void)vsnprintf(room, (size_t)size + 1, fmt, again);
    if (room)
        buf->n += (size_t)size;
    va_end(again);
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    buf_vprintf(buf, fmt, args);
    va_end(args);
}

void buf_cut(struct buf *buf, size_t n)
{
    assert(n <= buf->n);
    buf->n = n;
    if (buf->p)
        buf->p[n] = '\0';
}

void buf_consume(struct buf *buf, size_t n)
{
    assert(n <= buf->n);
    if (n == 0)
        return;
    memmove(buf->p, buf->p + n, buf->n - n);
    buf_cut(buf, buf->n - n);
}

struct str buf_view(const struct buf *buf)
{
    return (struct str){ buf_text(buf), buf->n };
}

const char *buf_text(const struct buf *buf)
{
    return buf->p ? buf->p : "";
}

char *buf_take(struct buf *buf)
{
    char *bytes = buf->p ? buf->p : mem_strdup("");

    *buf = (struct buf)BUF_INIT(buf->max);
    return bytes;
}

struct str buf_copy(const struct buf *buf, struct arena *arena)
{
    return arena_str(arena, buf_view(buf));
}

void buf_clear(struct buf *buf)
{
    buf_cut(buf, 0);
    buf->full = false;
}

void buf_done(struct buf *buf)
{
    free(buf->p);
    *buf = (struct buf)BUF_INIT(buf->max);
}
