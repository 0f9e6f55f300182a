/*
 * sql_table - our rows as a read-only SQLite table: its description, and the module that shows it
 * to SQLite.
 *
 * Its owner gives the names of its columns and four functions. A scan hands out rows in the order
 * of their ids, which are its first column, and may leave out rows outside of the bounds; SQLite
 * checks them again. A hidden column holds the row itself for the caller (sql_query.h).
 *
 * Memory: tables are constants of their owner; `self` must outlive the query.
 * Threads: one at a time for each query.
 */
#ifndef CORE_SQL_SQL_TABLE_H
#define CORE_SQL_SQL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct err;
struct sqlite3;

/* How a scan can use a condition on a column. */
enum sql_push {
    SQL_PUSH_NONE,
    SQL_PUSH_ID,   /* the first column, and only it */
    SQL_PUSH_TIME, /* a number, compared with bounds */
    SQL_PUSH_NAME, /* a text, one of several */
};

struct sql_column {
    const char *name, *type; /* type: INTEGER, REAL or TEXT */
    enum sql_push push;
};

/* Bounds of the rows of a scan; numbers are inclusive. */
struct sql_bounds {
    int64_t id_min, id_max, time_min, time_max;
    bool has_names; /* one of these texts; borrowed for the call */
    VEC(const char *) names;
};

enum sql_kind { SQL_NULL, SQL_INT, SQL_DOUBLE, SQL_TEXT };

struct sql_cell {
    enum sql_kind kind;
    int64_t i;
    double d;
    struct str s; /* valid until the next row */
};

struct sql_table {
    const char *name;
    const struct sql_column *columns;
    size_t column_count;
    int (*open)(void *self, const struct sql_bounds *bounds, void **ret_scan, struct err *err);
    /* The next row, valid until the next call; NULL: the end. */
    int (*next)(void *scan, const void **ret_row, struct err *err);
    void (*read)(void *scan, size_t column, struct sql_cell *ret_cell);
    void (*close)(void *scan);
};

/* The hidden column of every table, and the type of its pointer. */
#define SQL_TABLE_ROW_COLUMN "zester_row"
#define SQL_TABLE_ROW_TYPE   "zester_row"

/* Add a table to a database. `late(owner)` is called for each row; true ends the scan. */
struct sql_table_use {
    const struct sql_table *table;
    void *self;
    bool (*late)(void *owner);
    void *owner;
};

/* `use` is borrowed until the database is closed. */
int sql_table_add(struct sqlite3 *db, const struct sql_table_use *use, struct err *err);

#endif
