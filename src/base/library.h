/*
 * library - a shared library that is loaded when it is first needed, since most runs
 * never do. It stays until the process ends.
 *
 *     static struct { int (*f)(int); } api;
 *     const struct library_symbol symbols[] = { { "lib_f", &api.f } };
 *     void *handle = library_load("lib.so.1", symbols, ARRAY_LEN(symbols));
 *
 * Threads: any; whoever fills a table that is shared does it in pthread_once.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stddef.h>

struct library_symbol {
    const char *name;
    void *place; /* of the pointer to a function */
};

/* NULL when the library or one of the functions is not there; some places may be filled then. */
void *library_load(const char *name, const struct library_symbol *symbols, size_t count);

#endif
