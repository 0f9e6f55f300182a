#include "states/modules/postgres_database/catalog.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define OWN_SCHEMAS "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'"

int catalog_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct catalog_args *want = args;
    const struct {
        const char *key, *text;
    } texts[] = {
        { "name", want->name },         { "tablespace", want->tablespace },
        { "owner", want->owner },       { "encoding", want->encoding },
        { "lc_ctype", want->lc_ctype }, { "lc_collate", want->lc_collate },
        { "template", want->template },
    };
    int result = psql_validate(&want->login, where, diags);

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        result |= validate_text(texts[i].key, texts[i].text, VALIDATE_LINE, where, diags);
    if (want->name[0] == '\0')
        result = value_diag(diags, value_point(where, "name"), "'name' may not be empty");
    if (want->owner_recurse && !want->owner)
        result = value_diag(diags, value_point(where, "owner_recurse"),
                            "'owner_recurse' requires 'owner'");
    return result;
}

int catalog_find(struct state_run *run, const struct catalog_args *args, struct catalog *ret,
                 struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    struct psql_rows rows;

    *ret = (struct catalog){ 0 };
    buf_add_text(&sql, "SELECT r.rolname, pg_encoding_to_char(d.encoding), d.datcollate, "
                       "d.datctype, t.spcname FROM pg_database d JOIN pg_roles r ON r.oid = "
                       "d.datdba JOIN pg_tablespace t ON t.oid = d.dattablespace WHERE datname = ");
    psql_add_text(&sql, str_from(args->name));
    buf_add_char(&sql, ';');
    if (psql_run(run, &args->login, &sql, &rows, err) < 0)
        return -1;
    if (rows.list.n == 0 || rows.list.p[0].n != CATALOG_PROPERTIES)
        return 0;
    ret->exists = true;
    for (size_t i = 0; i < CATALOG_PROPERTIES; i++)
        ret->properties[i] = rows.list.p[0].fields[i];
    return 0;
}

int catalog_count(struct state_run *run, const struct catalog_args *args, int64_t *ret,
                  struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct psql_login inside = psql_in(&args->login, args->name);
    struct psql_rows rows;

    *ret = 0;
    buf_add_text(&sql, "SELECT COUNT(*) FROM pg_class c JOIN pg_namespace n ON n.oid = "
                       "c.relnamespace WHERE c.relkind IN ('r','v','m','S','f','p') "
                       "AND " OWN_SCHEMAS ";");
    if (psql_run(run, &inside, &sql, &rows, err) < 0)
        return -1;
    return rows.list.n > 0 ? number_parse_int(rows.list.p[0].fields[0], ret, err) : 0;
}

static void add_property(struct buf *sql, const char *word, const char *value, bool name)
{
    if (!value)
        return;
    buf_printf(sql, " %s = ", word);
    (name ? psql_add_name : psql_add_text)(sql, str_from(value));
}

/* A database cannot be created or dropped inside a transaction. */
int catalog_create(struct state_run *run, const struct catalog_args *args, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&sql, "CREATE DATABASE ");
    psql_add_name(&sql, str_from(args->name));
    add_property(&sql, "OWNER", args->owner, true);
    add_property(&sql, "TEMPLATE", args->template, true);
    add_property(&sql, "ENCODING", args->encoding, false);
    add_property(&sql, "LC_COLLATE", args->lc_collate, false);
    add_property(&sql, "LC_CTYPE", args->lc_ctype, false);
    add_property(&sql, "TABLESPACE", args->tablespace, true);
    buf_add_char(&sql, ';');
    return psql_run_alone(run, &args->login, &sql, err);
}

int catalog_drop(struct state_run *run, const struct catalog_args *args, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&sql, "DROP DATABASE ");
    psql_add_name(&sql, str_from(args->name));
    buf_add_char(&sql, ';');
    return psql_run_alone(run, &args->login, &sql, err);
}

/* Indexes belong to their tables, and sequences of columns too. */
int catalog_find_foreign(struct state_run *run, const struct catalog_args *args,
                         struct psql_rows *ret, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct psql_login inside = psql_in(&args->login, args->name);

    buf_add_text(&sql, "SELECT 'TABLE', format('%I.%I', n.nspname, c.relname), r.rolname FROM "
                       "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles r "
                       "ON r.oid = c.relowner WHERE c.relkind IN ('r','v','m','S','f','p') AND "
                       "NOT EXISTS (SELECT 1 FROM pg_depend p WHERE p.objid = c.oid AND p.deptype "
                       "IN ('a','i') AND c.relkind = 'S') AND " OWN_SCHEMAS " AND r.rolname <> ");
    psql_add_text(&sql, str_from(args->owner));
    buf_add_text(&sql, " UNION ALL SELECT 'SCHEMA', format('%I', n.nspname), r.rolname FROM "
                       "pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner WHERE " OWN_SCHEMAS
                       " AND n.nspname <> 'public' AND r.rolname <> ");
    psql_add_text(&sql, str_from(args->owner));
    buf_add_char(&sql, ';');
    return psql_run(run, &inside, &sql, ret, err);
}

void catalog_add_owner(struct buf *sql, struct str kind, struct str object, struct str owner)
{
    buf_printf(sql, "ALTER %.*s %.*s OWNER TO ", STR_ARG(kind), STR_ARG(object));
    psql_add_name(sql, owner);
    buf_add_text(sql, ";\n");
}
