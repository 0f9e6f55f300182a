#include "states/modules/postgres_extension/installed_extension.h"

#include "core/base/err.h"
#include "states/state/module.h"
#include "states/state/validate.h"

enum { VERSION, SCHEMA };

#define WANT(field) offsetof(struct extension_args, field)
static const struct resource_attribute attributes[] = {
    [VERSION] = { "version", "version", .want = WANT(ext_version) },
    [SCHEMA] = { "schema", "schema", .want = WANT(schema) },
};

int extension_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct extension_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_LINE, where, diags) |
                 validate_text("schema", want->schema, VALIDATE_LINE, where, diags) |
                 validate_text("ext_version", want->ext_version, VALIDATE_LINE, where, diags) |
                 psql_validate(&want->login, where, diags);

    if (want->from_db)
        result = value_diag(diags, value_point(where, "from_db"),
                            "'from_db' is not supported: PostgreSQL has no CREATE EXTENSION ... "
                            "FROM since version 13");
    if (want->cascade && want->restrict_drop)
        result = value_diag(diags, value_point(where, "cascade"),
                            "'cascade' and 'restrict' cannot both be true");
    return result;
}

static bool is_extension_away(struct state_run *run, const void *args)
{
    return psql_is_missing(run, &((const struct extension_args *)args)->login, "the extension");
}

static int find_extension(struct state_run *run, const void *args, struct resource_seen *ret,
                          struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct extension_args *want = args;
    struct psql_rows rows;

    buf_add_text(&sql, "SELECT e.extversion, n.nspname FROM pg_extension e JOIN pg_namespace n ON "
                       "n.oid = e.extnamespace WHERE e.extname = ");
    psql_add_text(&sql, str_from(want->name));
    buf_add_char(&sql, ';');
    if (psql_run(run, &want->login, &sql, &rows, err) < 0)
        return -1;
    ret->exists = rows.list.n > 0 && rows.list.p[0].n == ARRAY_LEN(attributes);
    for (size_t i = 0; ret->exists && i < ARRAY_LEN(attributes); i++)
        ret->values[i] = rows.list.p[0].fields[i].p;
    return 0;
}

static void add_clause(struct buf *sql, const char *words, const char *value)
{
    if (!value)
        return;
    buf_printf(sql, " %s ", words);
    psql_add_name(sql, str_from(value));
}

static void add_extension_change(struct buf *sql, const char *name, const char *words,
                                 const char *value)
{
    if (!value)
        return;
    buf_add_text(sql, "ALTER EXTENSION ");
    psql_add_name(sql, str_from(name));
    add_clause(sql, words, value);
    buf_add_text(sql, ";\n");
}

static int define_extension(struct state_run *run, const void *args,
                            const struct resource_seen *now, const struct resource_seen *as,
                            struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct extension_args *want = args;

    if (now->exists) {
        add_extension_change(&sql, want->name, "UPDATE TO", as->values[VERSION]);
        add_extension_change(&sql, want->name, "SET SCHEMA", as->values[SCHEMA]);
    } else {
        buf_add_text(&sql, "CREATE EXTENSION ");
        psql_add_name(&sql, str_from(want->name));
        add_clause(&sql, "SCHEMA", as->values[SCHEMA]);
        add_clause(&sql, "VERSION", as->values[VERSION]);
        buf_add_char(&sql, ';');
    }
    return sql.n > 0 ? psql_run(run, &want->login, &sql, NULL, err) : 0;
}

static int drop_extension(struct state_run *run, const void *args, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct extension_args *want = args;

    buf_add_text(&sql, "DROP EXTENSION ");
    psql_add_name(&sql, str_from(want->name));
    buf_printf(&sql, "%s;", want->cascade ? " CASCADE" : want->restrict_drop ? " RESTRICT" : "");
    return psql_run(run, &want->login, &sql, NULL, err);
}

const struct resource extension_resource = {
    .kind = "extension",
    .detail = "extension",
    .name = WANT(name),
    .missing = "is not installed",
    .exists = "is installed",
    .made = "installed",
    .attributes = attributes,
    .n = ARRAY_LEN(attributes),
    .is_away = is_extension_away,
    .find = find_extension,
    .define = define_extension,
    .drop = drop_extension,
};
