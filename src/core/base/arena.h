/*
 * arena - memory that is freed by lifetime, not by object.
 *
 * Everything that lives as long as a configuration, a run or a request comes from one arena and is
 * freed with it. Nothing inside an arena is freed alone.
 *
 *     AUTO_ARENA struct arena arena = ARENA_INIT;
 *     struct thing *t = ARENA_NEW(&arena, struct thing);
 *
 * Memory: owns its blocks. Threads: one at a time.
 */
#ifndef CORE_BASE_ARENA_H
#define CORE_BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/mem.h"
#include "core/base/str.h"

struct arena_block;

struct arena {
    struct arena_block *blocks;
    char *next, *end; /* the rest of the newest block, for the fast path */
    size_t used;      /* bytes handed out since init or clear */
    bool large;       /* large pages, once it has filled a megabyte */
};

#define ARENA_INIT                                                                                 \
    {                                                                                              \
        NULL, NULL, NULL, 0, false                                                                 \
    }
/* For data of megabytes that ends soon. Large pages are ten times as fast to get, but the last one
 * is used as a whole. */
#define ARENA_INIT_LARGE                                                                           \
    {                                                                                              \
        NULL, NULL, NULL, 0, true                                                                  \
    }

/* Aligned for any type; the content is undefined. */
void *arena_alloc(struct arena *arena, size_t size) __attribute__((malloc, returns_nonnull));
void *arena_zalloc(struct arena *arena, size_t size) __attribute__((malloc, returns_nonnull));

/* Copies that end in NUL, which is not counted. */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t size);
struct str arena_str(struct arena *arena, struct str text);
char *arena_printf(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);
char *arena_vprintf(struct arena *arena, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

/* A larger copy of `old`, which stays where it is unless it was the last one handed out. */
void *arena_grow(struct arena *arena, void *old, size_t old_size, size_t new_size);

/* Forget everything that was handed out; keep one block for use again. */
void arena_clear(struct arena *arena);
void arena_done(struct arena *arena);

#define ARENA_NEW(arena, type) ((type *)arena_zalloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count)                                                            \
    ((type *)arena_zalloc((arena), mem_product((count), sizeof(type))))

/* A local arena that ends with its scope. */
#define AUTO_ARENA __attribute__((cleanup(arena_done)))

#endif
