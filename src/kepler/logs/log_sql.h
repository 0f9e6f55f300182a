/*
 * log_sql - stored lines in order that match an SQL WHERE clause: `kepler logs --sql`.
 *
 *     log_sql_open -> [log_sql_tail] -> { log_sql_next }... -> log_sql_free
 *
 * core/sql/sql_query.h defines the permitted clauses. They see one table, the lines that pass the
 * filter:
 *
 *     logs(id, timestamp, service, hook, level, line, attributes)
 *
 * `timestamp` is milliseconds since 1970; `hook` and `attributes` may be NULL. For a line that is
 * a JSON object, `line`, `level` and `timestamp` come from the object, and `attributes` is the
 * rest of it. Conditions on id and service skip whole parts of the store; those on the timestamp
 * cannot, since the store only knows when a line arrived.
 *
 * As with log_reader, the end may be temporary.
 *
 * Memory: log_sql_free. A line is valid until the next call. Threads: one at a time;
 * log_sql_hurry from any.
 */
#ifndef KEPLER_LOGS_LOG_SQL_H
#define KEPLER_LOGS_LOG_SQL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct err;
struct log_filter;
struct log_line;
struct log_sql;

/* Folder, filter and its pointers are borrowed. Fails with ERR_INVALID for an invalid clause. */
int log_sql_open(const char *folder, const struct log_filter *filter, struct str text,
                 struct log_sql **ret_sql, struct err *err);
/* NULL is fine. */
void log_sql_free(struct log_sql *sql);

/* Seeks to the last `count` matching lines; to the first when there are fewer. */
int log_sql_tail(struct log_sql *sql, uint64_t count, struct err *err);
/* The next matching line; NULL when there is none now. */
int log_sql_next(struct log_sql *sql, const struct log_line **ret_line, struct err *err);

/* For followers: lines cleared after they arrived are still returned; with `all` also those cleared
 * earlier. */
void log_sql_keep_cleared(struct log_sql *sql, bool all);

/* See core/sql/sql_query.h. */
void log_sql_extend(struct log_sql *sql);
void log_sql_hurry(struct log_sql *sql, int64_t ns);

#endif
