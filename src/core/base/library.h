/*
 * library - a shared library loaded on first use, since most runs never need it. It stays until the
 * process ends.
 *
 *     static struct { int (*f)(int); } api;
 *     static const struct library_symbol symbols[] = { { "lib_f", &api.f } };
 *     static struct library library = { "lib.so.1", symbols, ARRAY_LEN(symbols) };
 *
 *     if (library_get(&library))
 *         api.f(1);
 *
 * A missing library is searched for again each time: a process that runs for months sees
 * it installed. Threads: any.
 */
#ifndef CORE_BASE_LIBRARY_H
#define CORE_BASE_LIBRARY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct library_symbol {
    const char *name;
    void *place; /* address of the function pointer */
};

struct library {
    const char *name;
    const struct library_symbol *symbols;
    size_t count;
    bool (*prepare)(void); /* called once all pointers are set; NULL: nothing to do */
    atomic_int state;
};

/* True when all functions are loaded, now or earlier. */
bool library_get(struct library *library);

#endif
