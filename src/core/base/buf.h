/*
 * buf - text or bytes that grow, up to a maximum that the caller names.
 *
 * Bytes past the maximum are dropped and `full` is set; the writer checks once, at the end. So
 * printers and encoders are straight lines without a check after every append. The content is
 * always NUL-terminated.
 *
 *     AUTO_BUF struct buf out = BUF_INIT(LIMIT);
 *     buf_printf(&out, "%d\n", n);
 *     if (out.full) ...
 *
 * Memory: owns its bytes until buf_done or buf_take. Threads: one at a time.
 */
#ifndef CORE_BASE_BUF_H
#define CORE_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/mem.h"
#include "core/base/str.h"

struct arena;

struct buf {
    char *p;
    size_t n, cap, max;
    bool full;
};

#define BUF_NO_LIMIT ((size_t)1 << 62)
#define BUF_INIT(limit)                                                                            \
    {                                                                                              \
        .max = (limit)                                                                             \
    }

void buf_add(struct buf *buf, const void *bytes, size_t n);
void buf_add_str(struct buf *buf, struct str text);
void buf_add_text(struct buf *buf, const char *text);
void buf_add_char(struct buf *buf, char c);
/* `n` times the same byte. */
void buf_fill(struct buf *buf, char c, size_t n);
void buf_printf(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *buf, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

/* Room for `n` bytes at the end: the caller writes them, then adds them to `buf->n`. NULL, and
 * `full` set, when the maximum does not allow it. */
char *buf_reserve(struct buf *buf, size_t n);

/* Cut to `n` bytes, which may not be more than there are. */
void buf_cut(struct buf *buf, size_t n);
/* Drop `n` bytes at the front. */
void buf_consume(struct buf *buf, size_t n);

/* A view, valid until the next change; never NULL. */
struct str buf_view(const struct buf *buf);
/* The content as a C string, valid until the next change; never NULL. */
const char *buf_text(const struct buf *buf);

/* Hands the bytes to the caller, who frees them; the buffer is empty then. */
char *buf_take(struct buf *buf);
/* A copy in the arena. */
struct str buf_copy(const struct buf *buf, struct arena *arena);

void buf_clear(struct buf *buf);
void buf_done(struct buf *buf);

#define AUTO_BUF __attribute__((cleanup(buf_done)))

#endif
