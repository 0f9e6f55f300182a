#include "base/vec.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"

#define FIRST_CAPACITY 8

void *vec_grow(struct arena *arena, void *p, size_t *cap, size_t item_size)
{
    size_t old_size = *cap * item_size;
    size_t new_cap = *cap > 0 ? mem_product(*cap, 2) : FIRST_CAPACITY;
    size_t new_size = mem_product(new_cap, item_size);

    *cap = new_cap;
    if (arena)
        return arena_grow(arena, p, old_size, new_size);
    return mem_realloc(p, new_size);
}

void vec_free(void *pointer_to_items, size_t *n, size_t *cap)
{
    void **items = pointer_to_items;

    free(*items);
    *items = NULL;
    *n = *cap = 0;
}
