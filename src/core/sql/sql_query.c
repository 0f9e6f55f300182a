#include "core/sql/sql_query.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sql/sqlite_api.h"
#include "core/sys/clock.h"

/* Instructions of SQLite between two looks at the clock. */
#define PROGRESS_STEPS 1000
/* Depth that our own words around the text add. */
#define DEPTH_AROUND 2
#define NOT_ONE      "this is not one expression: write a WHERE clause with nothing after it"

struct sql_query {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    struct sql_table_use use;
    bool may_read_row;         /* only our own statement may */
    _Atomic int64_t deadline;  /* on clock_real */
    _Atomic int64_t last_call; /* the same, permanently */
};

/* --- what may be said ------------------------------------------------------------------------ */

/* clang-format off */
static const char *const functions[] = {
    /* JSON */      "json", "json_array_length", "json_extract", "json_quote", "json_type", "json_valid", "->", "->>",
    /* text */      "glob", "hex", "instr", "length", "like", "lower", "ltrim", "replace", "rtrim", "substr", "substring", "trim", "unicode", "upper",
    /* comparing */ "coalesce", "ifnull", "iif", "max", "min", "nullif", "typeof",
    /* numbers */   "abs", "ceil", "ceiling", "floor", "mod", "round", "sign",
    /* times */     "date", "datetime", "strftime", "time", "unixepoch",
    /* many rows */ "avg", "count", "sum", "total",
};
static const struct {
    int id, value;
} limits[] = {
    { SQLITE_LIMIT_LENGTH,              1000000 },
    { SQLITE_LIMIT_SQL_LENGTH,          10000 },
    { SQLITE_LIMIT_EXPR_DEPTH,          20 },
    { SQLITE_LIMIT_COMPOUND_SELECT,     2 },
    { SQLITE_LIMIT_FUNCTION_ARG,        8 },
    { SQLITE_LIMIT_ATTACHED,            0 },
    { SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100 },
    { SQLITE_LIMIT_VARIABLE_NUMBER,     1 }, /* our own */
    { SQLITE_LIMIT_TRIGGER_DEPTH,       0 },
    { SQLITE_LIMIT_WORKER_THREADS,      0 },
};
static const struct {
    int option, on;
} settings[] = {
    { SQLITE_DBCONFIG_DEFENSIVE,             1 },
    { SQLITE_DBCONFIG_TRUSTED_SCHEMA,        0 },
    { SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
    { SQLITE_DBCONFIG_DQS_DML,               0 }, /* "x" is a column, 'x' is a text */
    { SQLITE_DBCONFIG_DQS_DDL,               0 },
};
/* clang-format on */

static bool may_call(const char *function)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (strcasecmp(functions[i], function) == 0)
            return true;
    return false;
}

static bool may_read_column(const struct sql_query *query, const char *table, const char *column)
{
    return strcmp(table, query->use.table->name) == 0 &&
           (query->may_read_row || strcmp(column, SQL_TABLE_ROW_COLUMN) != 0);
}

/* Anything not named here is refused. */
static int authorize_action(void *self, int action, const char *first, const char *second,
                            const char *database, const char *trigger)
{
    const struct sql_query *query = self;
    bool may = false;

    (void)database, (void)trigger;
    if (action == SQLITE_SELECT)
        may = true;
    else if (action == SQLITE_READ)
        may = may_read_column(query, first, second);
    else if (action == SQLITE_FUNCTION)
        may = may_call(second);
    return may ? SQLITE_OK : SQLITE_DENY;
}

int sql_query_check(struct str text, struct err *err)
{
    if (str_trim(text).n == 0)
        return err_set(err, ERR_INVALID, "the expression is empty");
    if (text.n > SQL_QUERY_SIZE_MAX)
        return err_set(err, ERR_LIMIT, "longer than %d bytes", SQL_QUERY_SIZE_MAX);
    if (memchr(text.p, '?', text.n))
        return err_set(err, ERR_INVALID,
                       "'?' is not allowed: write the value itself; "
                       "in LIKE, '_' matches any character");
    if (memchr(text.p, '\0', text.n))
        return err_set(err, ERR_INVALID, "a zero byte is not allowed");
    return 0;
}

/* --- time ------------------------------------------------------------------------------------ */

static bool is_query_late(void *self)
{
    struct sql_query *query = self;
    const int64_t now = clock_real();

    return now >= atomic_load(&query->deadline) || now >= atomic_load(&query->last_call);
}

static int on_query_progress(void *self)
{
    return is_query_late(self);
}

void sql_query_extend(struct sql_query *query)
{
    atomic_store(&query->deadline, clock_after(clock_real(), SQL_QUERY_TIME));
}

void sql_query_hurry(struct sql_query *query, int64_t ns)
{
    atomic_store(&query->last_call, clock_after(clock_real(), ns));
}

/* --- opening --------------------------------------------------------------------------------- */

static int fail_query(const struct sql_query *query, int rc, struct err *err)
{
    if (rc == SQLITE_INTERRUPT)
        return err_set(err, ERR_TIMEOUT,
                       "the query takes longer than %d s: ask for fewer rows, for example by id",
                       (int)(SQL_QUERY_TIME / CLOCK_SECOND));
    if (rc == SQLITE_NOMEM)
        return err_set(err, ERR_LIMIT, "the query takes too much memory");
    return err_set(err, ERR_INVALID, "%s", sqlite_api.errmsg(query->db));
}

static int prepare_statement(struct sql_query *query, const char *before, struct str text,
                             const char *after, struct err *err);

static void drop_statement(struct sql_query *query)
{
    (void)sqlite_api.finalize(query->stmt);
    query->stmt = NULL;
}

static int touch_table(struct sql_query *query, struct err *err)
{
    int rc = prepare_statement(query, "SELECT 1 FROM ", str_from(query->use.table->name), "", err);

    drop_statement(query);
    return rc;
}

static int open_database(struct sql_query *query, struct err *err)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite_api.open_v2(":memory:", &query->db, flags, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite_api.exec(query->db, "PRAGMA temp_store=memory; PRAGMA query_only=1", NULL, NULL,
                             NULL);
    for (size_t i = 0; rc == SQLITE_OK && i < ARRAY_LEN(settings); i++)
        rc = sqlite_api.db_config(query->db, settings[i].option, settings[i].on, NULL);
    if (rc != SQLITE_OK)
        return err_set(err, ERR_INVALID, "open SQLite: %s", sqlite_api.errmsg(query->db));
    for (size_t i = 0; i < ARRAY_LEN(limits); i++)
        (void)sqlite_api.limit(query->db, limits[i].id, limits[i].value);
    /* The table is created on first use: before the limit to reading. */
    if (sql_table_add(query->db, &query->use, err) < 0 || touch_table(query, err) < 0)
        return -1;
    (void)sqlite_api.set_authorizer(query->db, authorize_action, query);
    sqlite_api.progress_handler(query->db, PROGRESS_STEPS, on_query_progress, query);
    return 0;
}

/* The statement `before` TEXT `after`, alone. */
static int prepare_statement(struct sql_query *query, const char *before, struct str text,
                             const char *after, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const char *tail;
    int rc;

    buf_printf(&sql, "%s%.*s%s", before, STR_ARG(text), after);
    rc = sqlite_api.prepare_v2(query->db, buf_text(&sql), -1, &query->stmt, &tail);
    if (rc != SQLITE_OK)
        return fail_query(query, rc, err);
    if (str_trim(str_from(tail)).n > 0)
        return err_set(err, ERR_INVALID, NOT_ONE);
    return 0;
}

/* An expression is one in any place: as a clause, where SQLite reports its mistakes, and inside of
 * CASE, where a text that closes our parenthesis and adds another clause is not. The line end ends
 * a comment. */
static int check_expression(struct sql_query *query, struct str text, struct err *err)
{
    AUTO_BUF struct buf before = BUF_INIT(BUF_NO_LIMIT), after = BUF_INIT(BUF_NO_LIMIT);
    const int depth = sqlite_api.limit(query->db, SQLITE_LIMIT_EXPR_DEPTH, -1);
    int rc;

    buf_printf(&before, "SELECT 1 FROM %s WHERE (", query->use.table->name);
    buf_printf(&after, "\n) THEN 1 END FROM %s", query->use.table->name);
    rc = prepare_statement(query, buf_text(&before), text, "\n)", err);
    drop_statement(query);
    if (rc < 0)
        return -1;
    (void)sqlite_api.limit(query->db, SQLITE_LIMIT_EXPR_DEPTH, depth + DEPTH_AROUND);
    rc = prepare_statement(query, "SELECT CASE WHEN (", text, buf_text(&after), err);
    drop_statement(query);
    (void)sqlite_api.limit(query->db, SQLITE_LIMIT_EXPR_DEPTH, depth);
    return rc < 0 ? err_set(err, ERR_INVALID, NOT_ONE) : 0;
}

static int prepare_query(struct sql_query *query, struct str text, struct err *err)
{
    const char *name = query->use.table->name, *id = query->use.table->columns[0].name;
    AUTO_BUF struct buf before = BUF_INIT(BUF_NO_LIMIT), after = BUF_INIT(BUF_NO_LIMIT);

    if (check_expression(query, text, err) < 0)
        return -1;
    query->may_read_row = true;
    buf_printf(&before, "SELECT " SQL_TABLE_ROW_COLUMN " FROM %s WHERE %s > ?1 AND (", name, id);
    buf_printf(&after, "\n) ORDER BY %s", id);
    return prepare_statement(query, buf_text(&before), text, buf_text(&after), err);
}

int sql_query_open(const struct sql_table *table, void *self, struct str text,
                   struct sql_query **ret_query, struct err *err)
{
    struct sql_query *query;

    if (sql_query_check(text, err) < 0)
        return -1;
    if (!sqlite_api_load())
        return err_set(err, ERR_NOT_FOUND,
                       "SQL requires SQLite 3.38 (" SQLITE_API_LIBRARY
                       "): install libsqlite3-0, or use the expressions of -F without --sql");
    query = mem_zalloc(sizeof(*query));
    query->use = (struct sql_table_use){ table, self, is_query_late, query };
    atomic_init(&query->last_call, CLOCK_NEVER);
    sql_query_extend(query);
    if (open_database(query, err) < 0 || prepare_query(query, text, err) < 0) {
        sql_query_free(query);
        return -1;
    }
    *ret_query = query;
    sql_query_begin(query, -1);
    return 0;
}

void sql_query_free(struct sql_query *query)
{
    if (!query)
        return;
    (void)sqlite_api.finalize(query->stmt);
    (void)sqlite_api.close_v2(query->db);
    free(query);
}

/* --- rows ------------------------------------------------------------------------------------ */

void sql_query_begin(struct sql_query *query, int64_t after)
{
    (void)sqlite_api.reset(query->stmt);
    (void)sqlite_api.bind_int64(query->stmt, 1, after);
}

int sql_query_next(struct sql_query *query, const void **ret_row, struct err *err)
{
    int rc = sqlite_api.step(query->stmt);

    if (rc == SQLITE_DONE) {
        (void)sqlite_api.reset(query->stmt);
        *ret_row = NULL;
        return 0;
    }
    if (rc != SQLITE_ROW)
        return fail_query(query, rc, err);
    *ret_row =
        sqlite_api.value_pointer(sqlite_api.column_value(query->stmt, 0), SQL_TABLE_ROW_TYPE);
    if (!*ret_row)
        return err_set(err, ERR_INVALID, "SQLite cannot keep the order of rows here");
    return 0;
}
