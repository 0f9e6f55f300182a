#include "core/sql/sql_table.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sql/sqlite_api.h"

/* A condition that a scan uses, as a letter of the plan: a number's comparison, or a name. */
enum {
    PLAN_EQUAL = '=',
    PLAN_MORE = '>',
    PLAN_AT_LEAST = 'g',
    PLAN_LESS = '<',
    PLAN_AT_MOST = 'l',
    PLAN_NAMES = 'i', /* one of several */
};
/* Maximum conditions in use; SQLite checks the others itself. */
#define PLAN_MAX 64
/* The same for every plan: a scan is never replaced by several, whose rows would need sorting. */
#define SCAN_COST 1e6

struct virtual_table {
    sqlite3_vtab base;
    const struct sql_table_use *use;
};

struct cursor {
    sqlite3_vtab_cursor base;
    void *scan; /* NULL: none yet */
    const void *row;
};

static const struct sql_table_use *get_table_use(const struct cursor *cursor)
{
    return container_of(cursor->base.pVtab, struct virtual_table, base)->use;
}

static int fail_table(sqlite3_vtab *vtab, const char *text)
{
    sqlite_api.free(vtab->zErrMsg);
    vtab->zErrMsg = sqlite_api.mprintf("%s", text);
    return SQLITE_ERROR;
}

/* --- the table ------------------------------------------------------------------------------ */

static int connect_table(sqlite3 *db, void *self, int argc, const char *const *argv,
                         sqlite3_vtab **ret_vtab, char **reterr_text)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct sql_table_use *use = self;
    struct virtual_table *table;
    int rc;

    (void)argc, (void)argv, (void)reterr_text;
    buf_add_text(&text, "CREATE TABLE t(");
    for (size_t i = 0; i < use->table->column_count; i++)
        buf_printf(&text, "%s %s, ", use->table->columns[i].name, use->table->columns[i].type);
    buf_add_text(&text, SQL_TABLE_ROW_COLUMN " HIDDEN)");
    rc = sqlite_api.declare_vtab(db, buf_text(&text));
    if (rc != SQLITE_OK)
        return rc;
    table = mem_zalloc(sizeof(*table));
    table->use = use;
    *ret_vtab = &table->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *vtab)
{
    free(container_of(vtab, struct virtual_table, base));
    return SQLITE_OK;
}

/* --- plans ---------------------------------------------------------------------------------- */

static char get_plan_letter(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return PLAN_EQUAL;
    case SQLITE_INDEX_CONSTRAINT_GT: return PLAN_MORE;
    case SQLITE_INDEX_CONSTRAINT_GE: return PLAN_AT_LEAST;
    case SQLITE_INDEX_CONSTRAINT_LT: return PLAN_LESS;
    case SQLITE_INDEX_CONSTRAINT_LE: return PLAN_AT_MOST;
    default: return '\0';
    }
}

/* The letter of a condition; '\0': not usable. */
static char plan_constraint(const struct sql_table *table, sqlite3_index_info *info, int number)
{
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[number];
    const char sign = constraint->usable ? get_plan_letter(constraint->op) : '\0';
    const int column = constraint->iColumn;

    if (sign == '\0' || column < 0 || (size_t)column >= table->column_count)
        return '\0';
    switch (table->columns[column].push) {
    case SQL_PUSH_ID:
    case SQL_PUSH_TIME: return sqlite_api.vtab_in(info, number, -1) ? '\0' : sign;
    case SQL_PUSH_NAME:
        if (sign != PLAN_EQUAL || strcmp(sqlite_api.vtab_collation(info, number), "BINARY") != 0)
            return '\0';
        return sqlite_api.vtab_in(info, number, 1) ? PLAN_NAMES : PLAN_EQUAL;
    default: return '\0';
    }
}

/* A plan has two bytes for each condition: its letter and its subject. */
static int plan_scan(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    const struct sql_table *table = container_of(vtab, struct virtual_table, base)->use->table;
    char *plan = sqlite_api.malloc64(2 * PLAN_MAX + 1);
    int used = 0;

    if (!plan)
        return SQLITE_NOMEM;
    for (int i = 0; i < info->nConstraint && used < PLAN_MAX; i++) {
        const char letter = plan_constraint(table, info, i);

        if (letter == '\0')
            continue;
        plan[2 * used] = letter;
        plan[2 * used + 1] = (char)('0' + table->columns[info->aConstraint[i].iColumn].push);
        info->aConstraintUsage[i].argvIndex = ++used;
    }
    plan[2 * used] = '\0';
    info->idxStr = plan;
    info->needToFreeIdxStr = 1;
    info->estimatedCost = SCAN_COST;
    info->orderByConsumed =
        info->nOrderBy == 1 && info->aOrderBy[0].iColumn == 0 && !info->aOrderBy[0].desc;
    return SQLITE_OK;
}

/* --- bounds --------------------------------------------------------------------------------- */

static void bound_number(char letter, int64_t number, int64_t *min, int64_t *max)
{
    if (letter == PLAN_MORE || letter == PLAN_LESS) {
        if (number == (letter == PLAN_MORE ? INT64_MAX : INT64_MIN))
            return; /* no row can match: SQLite finds out */
        number += letter == PLAN_MORE ? 1 : -1;
    }
    if (letter != PLAN_LESS && letter != PLAN_AT_MOST && number > *min)
        *min = number;
    if (letter != PLAN_MORE && letter != PLAN_AT_LEAST && number < *max)
        *max = number;
}

/* Values of a list are only valid until the next one is read. */
static void add_bound_name(struct arena *arena, struct sql_bounds *bounds, sqlite3_value *v)
{
    if (sqlite_api.value_type(v) == SQLITE_TEXT)
        VEC_PUSH_IN(arena, &bounds->names,
                    arena_strdup(arena, (const char *)sqlite_api.value_text(v)));
}

/* With two conditions on names, the first one narrows the scan enough. */
static void bound_names(struct arena *arena, char letter, sqlite3_value *v,
                        struct sql_bounds *bounds)
{
    sqlite3_value *one;

    if (bounds->has_names)
        return;
    bounds->has_names = true;
    if (letter != PLAN_NAMES) {
        add_bound_name(arena, bounds, v);
        return;
    }
    for (int rc = sqlite_api.vtab_in_first(v, &one); rc == SQLITE_OK;
         rc = sqlite_api.vtab_in_next(v, &one))
        add_bound_name(arena, bounds, one);
}

static void read_bounds(struct arena *arena, const char *plan, sqlite3_value **values,
                        struct sql_bounds *bounds)
{
    for (int i = 0; plan[2 * i]; i++) {
        const char letter = plan[2 * i];
        const int push = plan[2 * i + 1] - '0';
        sqlite3_value *v = values[i];

        if (push == SQL_PUSH_NAME)
            bound_names(arena, letter, v, bounds);
        else if (sqlite_api.value_type(v) != SQLITE_INTEGER)
            continue; /* SQLite can compare texts and fractions */
        else if (push == SQL_PUSH_ID)
            bound_number(letter, sqlite_api.value_int64(v), &bounds->id_min, &bounds->id_max);
        else
            bound_number(letter, sqlite_api.value_int64(v), &bounds->time_min, &bounds->time_max);
    }
}

/* --- scans ---------------------------------------------------------------------------------- */

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **ret_cursor)
{
    struct cursor *cursor = mem_zalloc(sizeof(*cursor));

    (void)vtab; /* SQLite sets it */
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static void end_scan(struct cursor *cursor)
{
    if (cursor->scan)
        get_table_use(cursor)->table->close(cursor->scan);
    cursor->scan = NULL;
    cursor->row = NULL;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = container_of(base, struct cursor, base);

    end_scan(cursor);
    free(cursor);
    return SQLITE_OK;
}

static int next_sql_row(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = container_of(base, struct cursor, base);
    const struct sql_table_use *use = get_table_use(cursor);
    struct err err;

    if (use->late(use->owner))
        return SQLITE_INTERRUPT;
    if (use->table->next(cursor->scan, &cursor->row, &err) < 0)
        return fail_table(base->pVtab, err.text);
    return SQLITE_OK;
}

static int begin_scan(sqlite3_vtab_cursor *base, int number, const char *plan, int count,
                      sqlite3_value **values)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct cursor *cursor = container_of(base, struct cursor, base);
    const struct sql_table_use *use = get_table_use(cursor);
    struct sql_bounds bounds = {
        .id_min = INT64_MIN, .id_max = INT64_MAX, .time_min = INT64_MIN, .time_max = INT64_MAX
    };
    struct err err;

    (void)number, (void)count; /* the plan encodes both */
    end_scan(cursor);
    read_bounds(&arena, plan, values, &bounds);
    if (use->table->open(use->self, &bounds, &cursor->scan, &err) < 0)
        return fail_table(base->pVtab, err.text);
    return next_sql_row(base);
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
    return container_of(base, struct cursor, base)->row == NULL;
}

static int read_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct cursor *cursor = container_of(base, struct cursor, base);
    const struct sql_table *table = get_table_use(cursor)->table;
    struct sql_cell cell = { .kind = SQL_NULL };

    if ((size_t)column == table->column_count) {
        sqlite_api.result_pointer(context, (void *)(uintptr_t)cursor->row, SQL_TABLE_ROW_TYPE,
                                  NULL);
        return SQLITE_OK;
    }
    table->read(cursor->scan, (size_t)column, &cell);
    if (cell.kind == SQL_INT)
        sqlite_api.result_int64(context, cell.i);
    else if (cell.kind == SQL_DOUBLE)
        sqlite_api.result_double(context, cell.d);
    else if (cell.kind == SQL_TEXT)
        sqlite_api.result_text64(context, cell.s.p ? cell.s.p : "", cell.s.n, SQLITE_TRANSIENT,
                                 SQLITE_UTF8);
    return SQLITE_OK;
}

static int read_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_id)
{
    struct cursor *cursor = container_of(base, struct cursor, base);
    struct sql_cell cell = { .kind = SQL_NULL };

    get_table_use(cursor)->table->read(cursor->scan, 0, &cell);
    *ret_id = cell.i;
    return SQLITE_OK;
}

/* Without xCreate there is just the one table of this name. */
static const sqlite3_module module = {
    .xConnect = connect_table,
    .xBestIndex = plan_scan,
    .xDisconnect = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = begin_scan,
    .xNext = next_sql_row,
    .xEof = is_at_end,
    .xColumn = read_column,
    .xRowid = read_rowid,
};

int sql_table_add(struct sqlite3 *db, const struct sql_table_use *use, struct err *err)
{
    if (sqlite_api.create_module_v2(db, use->table->name, &module, (void *)(uintptr_t)use, NULL) !=
        SQLITE_OK)
        return err_set(err, ERR_INVALID, "make the table '%s': %s", use->table->name,
                       sqlite_api.errmsg(db));
    return 0;
}
