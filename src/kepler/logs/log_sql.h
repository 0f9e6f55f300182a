/*
 * log_sql - stored lines in order that match the WHERE clause of a person: `kepler logs --sql`.
 *
 *     log_sql_open -> [log_sql_tail] -> { log_sql_next }... -> log_sql_free
 *
 * What the clause may say is decided by core/sql/sql_query.h. It sees one table, the lines that the
 * filter lets through:
 *
 *     logs(id, timestamp, service, hook, level, line, attributes)
 *
 * `timestamp` is milliseconds since 1970, `hook` and `attributes` are NULL where there are none. Of
 * a line that is a JSON object, `line`, `level` and `timestamp` are what it says of itself, and
 * `attributes` is the rest of the object. Conditions on id and service skip whole parts of the
 * store; those on the timestamp cannot, since the store knows only when a line came.
 *
 * As with log_reader, the end is the end for now.
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

/* Folder, filter and what it points to are borrowed. Fails with ERR_INVALID and what is wrong with
 * the text. */
int log_sql_open(const char *folder, const struct log_filter *filter, struct str text,
                 struct log_sql **ret_sql, struct err *err);
/* NULL is fine. */
void log_sql_free(struct log_sql *sql);

/* Go to the last `count` lines that match; all of them when there are fewer. */
int log_sql_tail(struct log_sql *sql, uint64_t count, struct err *err);
/* The next line that matches; NULL when there is none now. */
int log_sql_next(struct log_sql *sql, const struct log_line **ret_line, struct err *err);

/* For followers: lines that are cleared after they came are still handed out; with `all` also those
 * that are cleared already. */
void log_sql_keep_cleared(struct log_sql *sql, bool all);

/* See core/sql/sql_query.h. */
void log_sql_extend(struct log_sql *sql);
void log_sql_hurry(struct log_sql *sql, int64_t ns);

#endif
