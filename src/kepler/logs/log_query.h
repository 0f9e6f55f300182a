/*
 * log_query - a filter expression for lines: `kepler logs -F`.
 *
 *     timeout                    lines with this text, ignoring case
 *     "connection reset"         the same, with blanks; ' works too, and \ before a quote
 *     GET*200                    the whole text of the line: * is any characters, ? is one
 *     @service:web               a field: service, hook, level, message, timestamp, or a path
 *     @http.status:>=500         into the attributes of a line that is a JSON object
 *     a b, a AND b, a OR b       both, both, one of them; OR binds least
 *     NOT a, -a, !a, (a OR b)    negation; grouping
 *
 * Field values are compared as a whole, with case; * and ? work in them, too. >, >=, < and <=
 * compare numbers, levels (@level:>=warn) and times (@timestamp:>2026-01-31T12:00:00Z, or
 * milliseconds). A line without the field does not match.
 *
 * Memory: the arena. Threads: any number may match.
 */
#ifndef KEPLER_LOGS_LOG_QUERY_H
#define KEPLER_LOGS_LOG_QUERY_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct err;
struct log_line;
struct log_query;
struct value;

/* Limits: bytes of a query; its words; nested parentheses and negations. */
#define LOG_QUERY_SIZE_MAX  4096
#define LOG_QUERY_TERMS_MAX 256
#define LOG_QUERY_DEPTH_MAX 20

/* Fails with ERR_INVALID or ERR_LIMIT; the text names the column. */
int log_query_parse(struct arena *arena, struct str text, const struct log_query **ret_query,
                    struct err *err);
bool log_query_match(const struct log_query *query, const struct log_line *line);

/* The same language for other data: only fields from a list that ends with NULL, no bare words.
 * `find` returns the value of a field; null: it has none. */
typedef struct value log_query_find_fn(void *self, const char *field);
int log_query_parse_fields(struct arena *arena, struct str text, const char *const *fields,
                           const struct log_query **ret_query, struct err *err);
bool log_query_match_fields(const struct log_query *query, log_query_find_fn *find, void *self);

#endif
