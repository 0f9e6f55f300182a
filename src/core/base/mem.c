#include "core/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void out_of_memory(void)
{
    (void)fputs("out of memory\n", stderr);
    abort();
}

void *mem_alloc(size_t size)
{
    void *p = malloc(size > 0 ? size : 1);

    if (!p)
        out_of_memory();
    return p;
}

void *mem_zalloc(size_t size)
{
    void *p = calloc(1, size > 0 ? size : 1);

    if (!p)
        out_of_memory();
    return p;
}

void *mem_realloc(void *p, size_t size)
{
    p = realloc(p, size > 0 ? size : 1);
    if (!p)
        out_of_memory();
    return p;
}

char *mem_strdup(const char *text)
{
    size_t size = strlen(text) + 1;

    return memcpy(mem_alloc(size), text, size);
}

size_t mem_product(size_t count, size_t size)
{
    size_t product;

    if (__builtin_mul_overflow(count, size, &product))
        out_of_memory();
    return product;
}

void mem_free_auto(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}
