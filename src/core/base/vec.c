#include "core/base/vec.h"

#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/mem.h"

/* The first capacity: arenas hold many short vectors, so large items get less room. */
#define FIRST_SIZE         128
#define FIRST_CAPACITY_MAX 8

static size_t first_capacity(size_t item_size)
{
    const size_t fit = FIRST_SIZE / item_size;

    return fit > FIRST_CAPACITY_MAX ? FIRST_CAPACITY_MAX : fit > 0 ? fit : 1;
}

void *vec_grow(struct arena *arena, void *p, size_t *cap, size_t item_size)
{
    size_t old_size = *cap * item_size;
    size_t new_cap = *cap > 0 ? mem_product(*cap, 2) : first_capacity(item_size);
    size_t new_size = mem_product(new_cap, item_size);

    *cap = new_cap;
    if (arena)
        return arena_grow(arena, p, old_size, new_size);
    return mem_realloc(p, new_size);
}

void *vec_reserve(struct arena *arena, size_t *cap, size_t count, size_t item_size)
{
    *cap = count;
    return count > 0 ? arena_alloc(arena, mem_product(count, item_size)) : NULL;
}

void vec_free(void *pointer_to_items, size_t *n, size_t *cap)
{
    void **items = pointer_to_items;

    free(*items);
    *items = NULL;
    *n = *cap = 0;
}
