/*
 * vec - an array that grows, of any type.
 *
 *     VEC(const char *) names = VEC_INIT;
 *     VEC_PUSH(&names, "a");               on the heap; vec_done(&names) frees
 *     VEC_PUSH_IN(&arena, &names, "b");    in an arena; freed with it
 *     VEC_EACH (&names, name)
 *         puts(*name);
 *
 * A vector stays where it began: heap or arena. Threads: one at a time.
 */
#ifndef CORE_BASE_VEC_H
#define CORE_BASE_VEC_H

#include <stddef.h>

struct arena;

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *p;                                                                                   \
        size_t n, cap;                                                                             \
    }

#define VEC_INIT                                                                                   \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

#define VEC_PUSH(vec, ...) VEC_PUSH_IN((struct arena *)NULL, vec, __VA_ARGS__)

#define VEC_PUSH_IN(arena, vec, ...)                                                               \
    do {                                                                                           \
        if ((vec)->n == (vec)->cap)                                                                \
            (vec)->p = vec_grow(arena, (vec)->p, &(vec)->cap, sizeof(*(vec)->p));                  \
        (vec)->p[(vec)->n++] = (__VA_ARGS__);                                                      \
    } while (0)

/* Room for `count` items in an empty vector. */
#define VEC_RESERVE_IN(arena, vec, count)                                                          \
    ((void)((vec)->p = vec_reserve(arena, &(vec)->cap, count, sizeof(*(vec)->p))))

/* `item` is a pointer into the vector; the vector may not grow meanwhile. */
#define VEC_EACH(vec, item)                                                                        \
    for (__typeof__((vec)->p + 0) item = (vec)->p; item && item < (vec)->p + (vec)->n; item++)

#define vec_clear(vec) ((void)((vec)->n = 0))

/* Free a vector on the heap. */
#define vec_done(vec) vec_free(&(vec)->p, &(vec)->n, &(vec)->cap)

void *vec_grow(struct arena *arena, void *p, size_t *cap, size_t item_size);
void *vec_reserve(struct arena *arena, size_t *cap, size_t count, size_t item_size);
void vec_free(void *pointer_to_items, size_t *n, size_t *cap);

#endif
