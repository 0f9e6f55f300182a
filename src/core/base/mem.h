/*
 * mem - the heap; allocation never fails.
 *
 * Allocation cannot fail: when memory runs out the process ends here, in one
 * place, with one line on stderr. Every size that comes from outside is compared
 * with a named limit before it reaches these functions.
 *
 * Memory: the caller owns and frees. Threads: any.
 */
#ifndef CORE_BASE_MEM_H
#define CORE_BASE_MEM_H

#include <stddef.h>

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* The struct that holds `member` at `pointer`. */
#define container_of(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Printf-like: the format is argument `fmt`, its values start at argument `args`. */
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_realloc(void *p, size_t size) __attribute__((returns_nonnull));
char *mem_strdup(const char *text) __attribute__((malloc, returns_nonnull));

/* `count` * `size`; the process ends when the product does not fit. */
size_t mem_product(size_t count, size_t size);

/* A local that frees itself: AUTO_FREE char *p = mem_alloc(10); */
void mem_free_auto(void *pointer_to_pointer);
#define AUTO_FREE __attribute__((cleanup(mem_free_auto)))

#endif
