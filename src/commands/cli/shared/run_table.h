/*
 * run_table - recorded runs of one machine or of many, for people.
 *
 *     RUN       TIME                  CHANGED  REVERTED  BY         WHAT
 *     3MHuhkQ4  2026-11-19T10:00:00Z  3                  user root  state.apply web
 *
 * A run of several machines (a job) is one row, with their number. Damaged records are reported on
 * standard error; those that do not even say what was run have no row.
 *
 * Memory: the arena; borrows the runs. Threads: one.
 */
#ifndef COMMANDS_CLI_SHARED_RUN_TABLE_H
#define COMMANDS_CLI_SHARED_RUN_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/vec.h"

struct arena;
struct run_list;
struct run_list_item;

struct run_table_row {
    const struct run_list_item *item; /* of the first machine */
    const char *peel;                 /* its name */
    size_t peels, reverted;           /* machines */
    uint64_t changed;
};

struct run_table {
    struct arena *arena;
    VEC(struct run_table_row) list;
    struct map by_id; /* place in the list + 1 */
    size_t damaged;   /* records */
    size_t peels;     /* machines; 0: this one */
};
#define RUN_TABLE_INIT(in)                                                                         \
    {                                                                                              \
        .arena = (in), .by_id = MAP_INIT_IN(in)                                                    \
    }

/* `peel` is its name, or "" for this machine alone. */
void run_table_add(struct run_table *table, const char *peel, const struct run_list *runs);
/* Returns the exit status: CLI_OK, or CLI_FAILED if a record is damaged. Without rows, nothing is
 * printed. */
int run_table_print(struct run_table *table);

#endif
