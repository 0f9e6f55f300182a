#include "states/modules/postgres_extension/installed_extension.h"

#include "core/base/err.h"
#include "states/state/module.h"

int installed_extension_find(struct state_run *run, const struct psql_login *login,
                             const char *name, struct installed_extension *ret, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    struct psql_rows rows;

    *ret = (struct installed_extension){ 0 };
    buf_add_text(&sql, "SELECT e.extversion, n.nspname FROM pg_extension e JOIN pg_namespace n ON "
                       "n.oid = e.extnamespace WHERE e.extname = ");
    psql_add_text(&sql, str_from(name));
    buf_add_char(&sql, ';');
    if (psql_run(run, login, &sql, &rows, err) < 0)
        return -1;
    if (rows.list.n > 0 && rows.list.p[0].n == 2)
        *ret = (struct installed_extension){ true, rows.list.p[0].fields[0],
                                             rows.list.p[0].fields[1] };
    return 0;
}

int installed_extension_note(struct state_run *run, const struct installed_extension *now,
                             struct err *err)
{
    if (state_note(run, "existed", value_bool(now->exists), err) < 0)
        return -1;
    if (!now->exists)
        return 0;
    if (state_note(run, "version", value_str(now->version), err) < 0)
        return -1;
    return state_note(run, "schema", value_str(now->schema), err);
}

int installed_extension_create(struct state_run *run, const struct psql_login *login,
                               const char *name, struct str schema, struct str version,
                               struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&sql, "CREATE EXTENSION ");
    psql_add_name(&sql, str_from(name));
    if (schema.n > 0) {
        buf_add_text(&sql, " SCHEMA ");
        psql_add_name(&sql, schema);
    }
    if (version.n > 0) {
        buf_add_text(&sql, " VERSION ");
        psql_add_name(&sql, version);
    }
    buf_add_char(&sql, ';');
    return psql_run(run, login, &sql, NULL, err);
}

int installed_extension_drop(struct state_run *run, const struct psql_login *login,
                             const char *name, const char *how, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&sql, "DROP EXTENSION ");
    psql_add_name(&sql, str_from(name));
    buf_printf(&sql, "%s;", how);
    return psql_run(run, login, &sql, NULL, err);
}

static void add_change(struct buf *sql, const char *name, const char *words, struct str value)
{
    if (value.n == 0)
        return;
    buf_add_text(sql, "ALTER EXTENSION ");
    psql_add_name(sql, str_from(name));
    buf_printf(sql, " %s ", words);
    psql_add_name(sql, value);
    buf_add_text(sql, ";\n");
}

int installed_extension_alter(struct state_run *run, const struct psql_login *login,
                              const char *name, struct str schema, struct str version,
                              struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    add_change(&sql, name, "UPDATE TO", version);
    add_change(&sql, name, "SET SCHEMA", schema);
    return sql.n > 0 ? psql_run(run, login, &sql, NULL, err) : 0;
}
