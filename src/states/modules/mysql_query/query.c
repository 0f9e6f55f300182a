#include "states/modules/mysql_query/query.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "states/modules/mysql_database/schema.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/fs.h"
#include "states/undo/change.h"

/* Limit for the file with the rows. */
#define OUTPUT_MAX ((size_t)64 << 20)

int query_validate(const struct query_args *args, const struct value *where, struct diags *diags)
{
    return validate_text("database", args->database, VALIDATE_LINE, where, diags) |
           server_validate(&args->login, where, diags);
}

/* --- rows ------------------------------------------------------------------------------------ */

static void add_unescaped_field(struct buf *out, struct str text)
{
    static const struct {
        const char *code;
        char letter;
    } codes[] = {
        { "&lt;", '<' }, { "&gt;", '>' }, { "&amp;", '&' }, { "&quot;", '"' }, { "&apos;", '\'' },
    };

    while (text.n > 0) {
        size_t i = 0;

        while (i < ARRAY_LEN(codes) && !str_starts(text, str_from(codes[i].code)))
            i++;
        buf_add_char(out, i < ARRAY_LEN(codes) ? codes[i].letter : text.p[0]);
        text = str_from_offset(text, i < ARRAY_LEN(codes) ? strlen(codes[i].code) : 1);
    }
}

static struct str unescape_printed_field(struct arena *arena, struct str text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    add_unescaped_field(&out, text);
    return buf_copy(&out, arena);
}

/* The text up to `mark`, and the rest after it; false when there is no mark. */
static bool cut_at(struct str *rest, const char *mark, struct str *ret)
{
    const struct str needle = str_from(mark);
    const size_t at = str_find(*rest, needle, 0);

    if (at == STR_NONE)
        return false;
    *ret = str_slice(*rest, 0, at);
    *rest = str_from_offset(*rest, at + needle.n);
    return true;
}

/* <field name="a">1</field>, or <field name="a" xsi:nil="true" />: NULL */
static struct value read_query_row(struct arena *arena, struct str row)
{
    struct value_map *map = value_map_new(arena, 8);
    struct str before, name, attributes, value;

    while (cut_at(&row, "<field name=\"", &before) && cut_at(&row, "\"", &name) &&
           cut_at(&row, ">", &attributes)) {
        const struct str column = unescape_printed_field(arena, name);

        if (attributes.n > 0)
            value_map_set(arena, map, value_str(column), value_null());
        else if (cut_at(&row, "</field>", &value))
            value_map_set(arena, map, value_str(column),
                          value_str(unescape_printed_field(arena, value)));
    }
    return value_map(map);
}

struct value query_rows(struct arena *arena, struct str xml)
{
    struct value_list *rows = value_list_new(arena, 8);
    struct str before, row;

    while (cut_at(&xml, "<row>", &before) && cut_at(&xml, "</row>", &row))
        value_list_push(arena, rows, read_query_row(arena, row));
    return value_list(rows);
}

/* --- the state -------------------------------------------------------------------------------- */

static int is_output_there(const struct query_args *args, bool *ret, struct err *err)
{
    struct fs_info info;

    *ret = false;
    if (!args->output || args->overwrite)
        return 0;
    if (fs_stat(args->output, &info, err) < 0)
        return -1;
    *ret = info.kind == FS_FILE;
    return 0;
}

/* `ret_missing`: a database that an earlier state must create. */
static int check_database(struct state_run *run, const struct query_args *args, bool *ret_missing,
                          struct err *err)
{
    const struct schema_args wanted = { .name = args->database, .login = args->login };
    struct resource_seen schema = { .exists = false };

    *ret_missing = false;
    if (!args->check_db_exists)
        return 0;
    if (schema_resource.find(run, &wanted, &schema, err) < 0)
        return -1;
    *ret_missing = !schema.exists;
    return 0;
}

int query_check(struct state_run *run, const struct query_args *args, struct err *err)
{
    bool done, missing;

    if (is_output_there(args, &done, err) < 0)
        return -1;
    if (done) {
        state_say(run, "%s exists", args->output);
        return 0;
    }
    if (server_is_missing(run, &args->login, "the query"))
        return 0;
    if (check_database(run, args, &missing, err) < 0)
        return -1;
    state_differs(run, "a query will run in database '%s'", args->database);
    state_made(run, "ran a query in database '%s'", args->database);
    if (missing)
        state_say(run,
                  "database '%s' does not exist; an earlier state must create it (apply fails "
                  "otherwise)",
                  args->database);
    return 0;
}

static int write_rows(struct state_run *run, const char *path, const struct value *rows,
                      struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(OUTPUT_MAX);

    for (size_t i = 0; i < rows->list->count; i++) {
        const struct value_map *row = rows->list->items[i].map;

        for (size_t j = 0; j < row->count; j++) {
            const struct value *value = &row->pairs[j].value;

            buf_printf(&out, "%.*s:%.*s\n", STR_ARG(row->pairs[j].key.s),
                       STR_ARG(value->kind == VALUE_STR ? value->s : STR("NULL")));
        }
    }
    if (out.full)
        return err_set(err, ERR_LIMIT, "the rows have more than %zu bytes", OUTPUT_MAX);
    return change_write(run, path, buf_view(&out), NULL, err);
}

static struct str finish_sql(struct state_run *run, struct str sql)
{
    const struct str text = str_trim(sql);

    if (str_ends(text, STR(";")))
        return text;
    return str_from(arena_printf(run->arena, "%.*s\n;\n", STR_ARG(text)));
}

int query_apply(struct state_run *run, const struct query_args *args, struct str sql,
                struct err *err)
{
    struct server_login login = args->login;
    bool done, missing;
    struct value rows;
    struct str xml;

    if (is_output_there(args, &done, err) < 0)
        return -1;
    if (done) {
        state_unchanged(run);
        return 0;
    }
    if (check_database(run, args, &missing, err) < 0)
        return -1;
    if (missing)
        return err_set(err, ERR_NOT_FOUND, "database '%s' does not exist", args->database);
    login.db = args->database;
    if (server_run_xml(run, &login, finish_sql(run, sql), &xml, err) < 0)
        return -1;
    rows = query_rows(run->arena, xml);
    if (args->output && write_rows(run, args->output, &rows, err) < 0)
        return -1;
    state_detail(run, "database", "%s", args->database);
    state_detail_value(run, "results", rows);
    state_detail_value(run, "rows", value_int((int64_t)rows.list->count));
    return 0;
}

int query_revert(struct state_run *run, const struct query_args *args)
{
    state_say(run, "the query in database '%s' cannot be reverted", args->database);
    if (!args->output)
        state_unchanged(run);
    return 0;
}
