#include "states/modules/mysql_database/schema.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "states/state/module.h"
#include "states/state/validate.h"

/* Character sets and collations are words. */
static int validate_word(const char *key, const char *text, const struct value *where,
                         struct diags *diags)
{
    if (text && !validate_is_variable(str_from(text)))
        return value_diag(diags, value_point(where, key),
                          "'%s' may contain only letters, digits and '_'", key);
    return 0;
}

int schema_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct schema_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_LINE, where, diags);

    if (want->name[0] == '\0')
        result = value_diag(diags, value_point(where, "name"), "'name' must not be empty");
    result |= validate_word("character_set", want->character_set, where, diags);
    result |= validate_word("collate", want->collate, where, diags);
    return result | server_validate(&want->login, where, diags);
}

static void add_count(struct buf *sql, const char *table, const char *column, struct str name)
{
    buf_printf(sql, " + (SELECT COUNT(*) FROM information_schema.%s o WHERE o.%s = ", table,
               column);
    server_add_text(sql, name);
    buf_add_char(sql, ')');
}

int schema_find(struct state_run *run, const struct schema_args *args, struct schema *ret,
                struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct str name = str_from(args->name);
    struct server_rows rows;

    *ret = (struct schema){ 0 };
    buf_add_text(&sql, "SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME, 0");
    add_count(&sql, "TABLES", "TABLE_SCHEMA", name);
    add_count(&sql, "ROUTINES", "ROUTINE_SCHEMA", name);
    add_count(&sql, "EVENTS", "EVENT_SCHEMA", name);
    buf_add_text(&sql, " FROM information_schema.SCHEMATA WHERE BINARY SCHEMA_NAME = ");
    server_add_text(&sql, name);
    buf_add_char(&sql, ';');
    if (server_run(run, &args->login, &sql, &rows, err) < 0)
        return -1;
    if (rows.list.n == 0 || rows.list.p[0].n < 3)
        return 0;
    ret->exists = true;
    ret->character_set = rows.list.p[0].fields[0].p;
    ret->collate = rows.list.p[0].fields[1].p;
    return number_parse_int(rows.list.p[0].fields[2], &ret->objects, err);
}

int schema_define(struct state_run *run, const struct schema_args *args, const char *verb,
                  const char *character_set, const char *collate, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    buf_printf(&sql, "%s DATABASE ", verb);
    server_add_name(&sql, str_from(args->name));
    if (character_set)
        buf_printf(&sql, " CHARACTER SET %s", character_set);
    if (collate)
        buf_printf(&sql, " COLLATE %s", collate);
    buf_add_char(&sql, ';');
    return server_run(run, &args->login, &sql, NULL, err);
}

int schema_drop(struct state_run *run, const struct schema_args *args, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&sql, "DROP DATABASE ");
    server_add_name(&sql, str_from(args->name));
    buf_add_char(&sql, ';');
    return server_run(run, &args->login, &sql, NULL, err);
}
