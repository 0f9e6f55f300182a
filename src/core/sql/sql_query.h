/*
 * sql_query - the rows of a table that match a user's WHERE clause.
 *
 *     sql_query_open -> { sql_query_begin -> sql_query_next... }... -> sql_query_free
 *
 * The author of the text may read the table and do nothing else: it must be one expression, may
 * name this table and listed functions, and has limits on size, depth, memory and time. SQLite
 * reads nothing but the table: its database is empty and in memory.
 *
 * Memory: sql_query_free. Threads: one at a time; sql_query_hurry from any.
 */
#ifndef CORE_SQL_SQL_QUERY_H
#define CORE_SQL_SQL_QUERY_H

#include <stdint.h>

#include "core/base/str.h"
#include "core/sql/sql_table.h"

struct err;
struct sql_query;

/* Bytes of the text. */
#define SQL_QUERY_SIZE_MAX 4096
/* Time limit in nanoseconds, from sql_query_extend on. */
#define SQL_QUERY_TIME (INT64_C(5) * 1000000000)

/* Could the text be a clause? Checked without SQLite: not empty, not too long, no '?'. */
int sql_query_check(struct str text, struct err *err);

/* Fails with ERR_INVALID and SQLite's message, and with ERR_NOT_FOUND when SQLite is not installed.
 * `self` is for the functions of the table. */
int sql_query_open(const struct sql_table *table, void *self, struct str text,
                   struct sql_query **ret_query, struct err *err);
/* NULL is fine. */
void sql_query_free(struct sql_query *query);

/* From the first row with an id above `after` on; starts a new scan. */
void sql_query_begin(struct sql_query *query, int64_t after);
/* The next row of the table's scan, valid until the next call; NULL: the end. Fails with
 * ERR_TIMEOUT after the time limit. */
int sql_query_next(struct sql_query *query, const void **ret_row, struct err *err);

/* Restart the time limit: SQL_QUERY_TIME from now. */
void sql_query_extend(struct sql_query *query);
/* End within `ns`, since another caller waits. Later calls of sql_query_extend have no effect. */
void sql_query_hurry(struct sql_query *query, int64_t ns);

#endif
