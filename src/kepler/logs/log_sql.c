#include "kepler/logs/log_sql.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "kepler/logs/log_filter.h"
#include "kepler/logs/log_line.h"
#include "kepler/logs/log_reader.h"
#include "core/sql/sql_query.h"

#define NS_PER_MS INT64_C(1000000)

struct log_sql {
    const char *folder;
    struct log_filter filter;
    struct sql_query *query;
    int64_t after; /* the last line that was handed out; -1: none */
    bool begun;    /* the query is under way */
    bool keep_cleared, keep_all;
};

/* --- the table ------------------------------------------------------------------------------ */

enum { LOG_ID, LOG_TIMESTAMP, LOG_SERVICE, LOG_HOOK, LOG_LEVEL, LOG_LINE, LOG_ATTRIBUTES };

static const struct sql_column columns[] = {
    [LOG_ID] = { "id", "INTEGER", SQL_PUSH_ID },
    [LOG_TIMESTAMP] = { "timestamp", "INTEGER", SQL_PUSH_NONE },
    [LOG_SERVICE] = { "service", "TEXT", SQL_PUSH_NAME },
    [LOG_HOOK] = { "hook", "TEXT", SQL_PUSH_NONE },
    [LOG_LEVEL] = { "level", "TEXT", SQL_PUSH_NONE },
    [LOG_LINE] = { "line", "TEXT", SQL_PUSH_NONE },
    [LOG_ATTRIBUTES] = { "attributes", "TEXT", SQL_PUSH_NONE },
};

/* One pass over the lines. */
struct log_scan {
    struct log_reader *reader;
    const struct log_line *line;
    int64_t id_max;
    bool is_empty;      /* no line can be within the bounds */
    struct arena arena; /* parsed lazily from the line */
    bool has_details;
    struct jsonline details;
    struct arena names; /* services that both the filter and the bounds allow */
};

static bool is_column_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Services that the filter and the bounds both allow. */
static void limit_services(struct log_scan *scan, const struct sql_bounds *bounds,
                           struct log_filter *filter)
{
    const char **services = ARENA_ARRAY(&scan->names, const char *, bounds->names.n + 1);
    size_t count = 0;

    if (!bounds->has_names)
        return;
    VEC_EACH (&bounds->names, name)
        if (filter->service_count == 0 ||
            is_column_of(*name, filter->services, filter->service_count))
            services[count++] = arena_strdup(&scan->names, *name);
    filter->services = services;
    filter->service_count = count;
    scan->is_empty = count == 0;
}

static void close_scan(void *self)
{
    struct log_scan *scan = self;

    log_reader_free(scan->reader);
    arena_done(&scan->names);
    arena_done(&scan->arena);
    free(scan);
}

static int open_scan(void *self, const struct sql_bounds *bounds, void **ret_scan, struct err *err)
{
    const struct log_sql *sql = self;
    struct log_scan *scan = mem_zalloc(sizeof(*scan));
    struct log_filter filter = sql->filter;

    limit_services(scan, bounds, &filter);
    if (bounds->id_min > 0 && (uint64_t)bounds->id_min - 1 > filter.after)
        filter.after = (uint64_t)bounds->id_min - 1;
    scan->id_max = bounds->id_max;
    if (log_reader_open(sql->folder, &filter, &scan->reader, err) < 0) {
        close_scan(scan);
        return -1;
    }
    if (sql->keep_cleared)
        log_reader_keep_cleared(scan->reader, sql->keep_all);
    *ret_scan = scan;
    return 0;
}

static int next_sql_line(void *self, const void **ret_row, struct err *err)
{
    struct log_scan *scan = self;

    scan->line = NULL;
    scan->has_details = false;
    arena_clear(&scan->arena);
    if (!scan->is_empty && log_reader_next(scan->reader, &scan->line, err) < 0)
        return -1;
    if (scan->line && scan->line->seq > INT64_MAX)
        scan->line = NULL;
    if (scan->line && (int64_t)scan->line->seq > scan->id_max)
        scan->line = NULL;
    *ret_row = scan->line;
    return 0;
}

static const struct jsonline *find_details(struct log_scan *scan)
{
    if (!scan->has_details)
        log_line_details(&scan->arena, scan->line, &scan->details);
    scan->has_details = true;
    return &scan->details;
}

static struct sql_cell text_cell(struct str text)
{
    return (struct sql_cell){ .kind = SQL_TEXT, .s = text };
}

static struct sql_cell print_attributes(struct log_scan *scan)
{
    const struct value_map *attributes = find_details(scan)->attributes;
    const struct value v = { .kind = VALUE_MAP, .map = (struct value_map *)(uintptr_t)attributes };
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err ignored; /* it was JSON when it came */

    if (attributes->count == 0 || json_print(&out, &v, JSON_STYLE_TEXT, &ignored) < 0)
        return (struct sql_cell){ .kind = SQL_NULL };
    return text_cell(buf_copy(&out, &scan->arena));
}

static void read_line_cell(void *self, size_t column, struct sql_cell *ret_cell)
{
    struct log_scan *scan = self;
    const struct log_line *line = scan->line;

    switch (column) {
    case LOG_ID: *ret_cell = (struct sql_cell){ .kind = SQL_INT, .i = (int64_t)line->seq }; break;
    case LOG_TIMESTAMP:
        *ret_cell = (struct sql_cell){ .kind = SQL_INT, .i = find_details(scan)->time / NS_PER_MS };
        break;
    case LOG_SERVICE: *ret_cell = text_cell(str_from(line->service)); break;
    case LOG_HOOK:
        if (line->hook[0])
            *ret_cell = text_cell(str_from(line->hook));
        break;
    case LOG_LEVEL:
        *ret_cell = text_cell(str_from(jsonline_level_name(find_details(scan)->level)));
        break;
    case LOG_LINE: *ret_cell = text_cell(find_details(scan)->message); break;
    case LOG_ATTRIBUTES: *ret_cell = print_attributes(scan); break;
    }
}

static const struct sql_table logs_table = {
    .name = "logs",
    .columns = columns,
    .column_count = ARRAY_LEN(columns),
    .open = open_scan,
    .next = next_sql_line,
    .read = read_line_cell,
    .close = close_scan,
};

/* --- the query ------------------------------------------------------------------------------ */

int log_sql_open(const char *folder, const struct log_filter *filter, struct str text,
                 struct log_sql **ret_sql, struct err *err)
{
    struct log_sql *sql = mem_zalloc(sizeof(*sql));

    *sql = (struct log_sql){ .folder = folder, .filter = *filter, .after = -1 };
    if (sql_query_open(&logs_table, sql, text, &sql->query, err) < 0) {
        free(sql);
        return -1;
    }
    *ret_sql = sql;
    return 0;
}

void log_sql_free(struct log_sql *sql)
{
    if (!sql)
        return;
    sql_query_free(sql->query);
    free(sql);
}

void log_sql_keep_cleared(struct log_sql *sql, bool all)
{
    sql->keep_cleared = true;
    sql->keep_all = all;
}

void log_sql_extend(struct log_sql *sql)
{
    sql_query_extend(sql->query);
}

void log_sql_hurry(struct log_sql *sql, int64_t ns)
{
    sql_query_hurry(sql->query, ns);
}

/* Counts the matches, then skips all but the last. Lines that arrive in between are among the last.
 */
int log_sql_tail(struct log_sql *sql, uint64_t count, struct err *err)
{
    const void *row;
    int64_t last = -1;
    uint64_t found = 0;

    for (sql_query_begin(sql->query, -1);; found++) {
        if (sql_query_next(sql->query, &row, err) < 0)
            return -1;
        if (!row)
            break;
        last = (int64_t)((const struct log_line *)row)->seq;
    }
    if (found > count && count > 0)
        sql_query_begin(sql->query, -1);
    for (uint64_t skip = count > 0 && found > count ? found - count : 0; skip > 0; skip--) {
        if (sql_query_next(sql->query, &row, err) < 0)
            return -1;
        if (row)
            sql->after = (int64_t)((const struct log_line *)row)->seq;
    }
    if (count == 0)
        sql->after = last;
    sql->begun = false;
    return 0;
}

int log_sql_next(struct log_sql *sql, const struct log_line **ret_line, struct err *err)
{
    const void *row;

    if (!sql->begun)
        sql_query_begin(sql->query, sql->after);
    sql->begun = true;
    if (sql_query_next(sql->query, &row, err) < 0)
        return -1;
    *ret_line = row;
    if (row)
        sql->after = (int64_t)((const struct log_line *)row)->seq;
    else
        sql->begun = false;
    /* Followers have seen lines cleared after this. */
    sql->keep_all = sql->keep_all || (sql->keep_cleared && !row);
    return 0;
}
