#include "states/modules/mysql_database/schema.h"

#include <string.h>
#include <strings.h>

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

/* Older servers call utf8mb3 utf8. */
static bool is_same_set(const char *have, const char *want)
{
    return strcasecmp(have, want) == 0 ||
           (strncasecmp(have, "utf8mb3", 7) == 0 && strncasecmp(want, "utf8", 4) == 0 &&
            strcasecmp(have + 7, want + 4) == 0);
}

enum { SET, COLLATE };

#define WANT(field) offsetof(struct schema_args, field)
static const struct resource_attribute attributes[] = {
    [SET] = { "character set", "character_set", WANT(character_set), .is_same = is_same_set },
    [COLLATE] = { "collation", "collate", WANT(collate), .is_same = is_same_set },
};

static void add_object_count(struct buf *sql, const char *table, const char *column,
                             struct str name)
{
    buf_printf(sql, " + (SELECT COUNT(*) FROM information_schema.%s o WHERE o.%s = ", table,
               column);
    server_add_text(sql, name);
    buf_add_char(sql, ')');
}

static bool is_schema_away(struct state_run *run, const void *args)
{
    return server_is_missing(run, &((const struct schema_args *)args)->login, "the database");
}

static int find_schema(struct state_run *run, const void *args, struct resource_seen *ret,
                       struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct schema_args *want = args;
    struct server_rows rows;

    buf_add_text(&sql, "SELECT DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM "
                       "information_schema.SCHEMATA WHERE BINARY SCHEMA_NAME = ");
    server_add_text(&sql, str_from(want->name));
    buf_add_char(&sql, ';');
    if (server_run(run, &want->login, &sql, &rows, err) < 0)
        return -1;
    ret->exists = rows.list.n > 0 && rows.list.p[0].n == ARRAY_LEN(attributes);
    for (size_t i = 0; ret->exists && i < ARRAY_LEN(attributes); i++)
        ret->values[i] = rows.list.p[0].fields[i].p;
    return 0;
}

/* Tables, views, routines and events in it. */
static int count_objects(struct state_run *run, const void *args, int64_t *ret, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct schema_args *want = args;
    struct server_rows rows;

    *ret = 0;
    buf_add_text(&sql, "SELECT 0");
    add_object_count(&sql, "TABLES", "TABLE_SCHEMA", str_from(want->name));
    add_object_count(&sql, "ROUTINES", "ROUTINE_SCHEMA", str_from(want->name));
    add_object_count(&sql, "EVENTS", "EVENT_SCHEMA", str_from(want->name));
    buf_add_char(&sql, ';');
    if (server_run(run, &want->login, &sql, &rows, err) < 0)
        return -1;
    return rows.list.n > 0 ? number_parse_int(rows.list.p[0].fields[0], ret, err) : 0;
}

static int define_schema(struct state_run *run, const void *args, const struct resource_seen *now,
                         const struct resource_seen *as, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct schema_args *want = args;

    if (now->exists && !as->values[SET] && !as->values[COLLATE])
        return 0;
    buf_printf(&sql, "%s DATABASE ", now->exists ? "ALTER" : "CREATE");
    server_add_name(&sql, str_from(want->name));
    if (as->values[SET])
        buf_printf(&sql, " CHARACTER SET %s", as->values[SET]);
    if (as->values[COLLATE])
        buf_printf(&sql, " COLLATE %s", as->values[COLLATE]);
    buf_add_char(&sql, ';');
    return server_run(run, &want->login, &sql, NULL, err);
}

static int drop_schema(struct state_run *run, const void *args, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct schema_args *want = args;

    buf_add_text(&sql, "DROP DATABASE ");
    server_add_name(&sql, str_from(want->name));
    buf_add_char(&sql, ';');
    return server_run(run, &want->login, &sql, NULL, err);
}

static const struct resource_contents objects = { "objects", "tables and routines", count_objects };

const struct resource schema_resource = {
    .kind = "database",
    .detail = "database",
    .name = WANT(name),
    .attributes = attributes,
    .n = ARRAY_LEN(attributes),
    .contents = &objects,
    .is_away = is_schema_away,
    .find = find_schema,
    .define = define_schema,
    .drop = drop_schema,
};
