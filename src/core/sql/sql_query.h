/*
 * sql_query - the rows of a table that a person asks for with the text of a WHERE clause.
 *
 *     sql_query_open -> { sql_query_begin -> sql_query_next... }... -> sql_query_free
 *
 * The text comes from somebody who may read the table and do nothing else with it: it must be one
 * expression, may name this table and functions of a list, and has limits for its size, its depth,
 * its memory and its time. SQLite reads nothing but the table: its database is empty and in memory.
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
/* Nanoseconds between sql_query_extend and the end of patience. */
#define SQL_QUERY_TIME (INT64_C(5) * 1000000000)

/* Could the text be a clause? Without SQLite: it is not empty, not too long, and has no '?'. */
int sql_query_check(struct str text, struct err *err);

/* Fails with ERR_INVALID and what SQLite says, and with ERR_NOT_FOUND when it is not installed.
 * `self` is for the functions of the table. */
int sql_query_open(const struct sql_table *table, void *self, struct str text,
                   struct sql_query **ret_query, struct err *err);
/* NULL is fine. */
void sql_query_free(struct sql_query *query);

/* From the first row with an id above `after` on; the whole table is asked about anew. */
void sql_query_begin(struct sql_query *query, int64_t after);
/* The next row, as the table handed it out, valid until the next call; NULL: the end. Fails with
 * ERR_TIMEOUT when the time is over. */
int sql_query_next(struct sql_query *query, const void **ret_row, struct err *err);

/* The time begins anew: SQL_QUERY_TIME from now. */
void sql_query_extend(struct sql_query *query);
/* Somebody waits: end within `ns`. Later calls of sql_query_extend do not help. */
void sql_query_hurry(struct sql_query *query, int64_t ns);

#endif
