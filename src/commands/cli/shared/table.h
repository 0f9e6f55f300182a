/*
 * table - rows under heads, for people.
 *
 *     static const char *const heads[] = { "PEEL ID", "LAST-SEEN" };
 *     struct table table = TABLE_INIT(arena, heads);
 *     const char **row = table_add(&table);
 *     row[0] = ...;
 *     table_print(&table);
 *
 * The cells are not copied. One that is not set is empty.
 */
#ifndef COMMANDS_CLI_SHARED_TABLE_H
#define COMMANDS_CLI_SHARED_TABLE_H

#include "core/base/mem.h"
#include "core/base/vec.h"

struct arena;

struct table {
    struct arena *arena;
    const char *const *heads;
    size_t columns;
    VEC(const char **) rows;
};

#define TABLE_INIT(in, names)                                                                      \
    {                                                                                              \
        .arena = (in), .heads = (names), .columns = ARRAY_LEN(names)                               \
    }

/* A new row of empty cells, one below each head. */
const char **table_add(struct table *table);
/* To the standard output. Returns CLI_OK. */
int table_print(const struct table *table);

#endif
