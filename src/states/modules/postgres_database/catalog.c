#include "states/modules/postgres_database/catalog.h"

#include <ctype.h>
#include <string.h>

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

/* UTF-8 and utf8, en_US.UTF-8 and en_US.utf8 are alike. */
static bool is_same_locale(const char *have, const char *want)
{
    for (;; have++, want++) {
        have += strspn(have, "-");
        want += strspn(want, "-");
        if (*have == '\0' || *want == '\0')
            return *have == *want;
        if (tolower((unsigned char)*have) != tolower((unsigned char)*want))
            return false;
    }
}

enum { OWNER, ENCODING, COLLATE, CTYPE, TABLESPACE };

#define WANT(field) offsetof(struct catalog_args, field)
static const struct resource_attribute attributes[] = {
    [OWNER] = { "owner", "owner", WANT(owner), .loose = true },
    [ENCODING] = { "encoding", "encoding", WANT(encoding), is_same_locale, .fixed = true },
    [COLLATE] = { "lc_collate", "lc_collate", WANT(lc_collate), is_same_locale, .fixed = true },
    [CTYPE] = { "lc_ctype", "lc_ctype", WANT(lc_ctype), is_same_locale, .fixed = true },
    [TABLESPACE] = { "tablespace", "tablespace", WANT(tablespace), .loose = true },
};

/* --- reading ---------------------------------------------------------------------------- */

static bool is_database_away(struct state_run *run, const void *args)
{
    return psql_is_missing(run, &((const struct catalog_args *)args)->login, "the database");
}

static int count_relations(struct state_run *run, const void *args, int64_t *ret, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct catalog_args *want = args;
    const struct psql_login inside = psql_in(&want->login, want->name);
    struct psql_rows rows;

    *ret = 0;
    buf_add_text(&sql, "SELECT COUNT(*) FROM pg_class c JOIN pg_namespace n ON n.oid = "
                       "c.relnamespace WHERE c.relkind IN ('r','v','m','S','f','p') "
                       "AND " OWN_SCHEMAS ";");
    if (psql_run(run, &inside, &sql, &rows, err) < 0)
        return -1;
    return rows.list.n > 0 ? number_parse_int(rows.list.p[0].fields[0], ret, err) : 0;
}

/* Relations and schemas of the database that belong to another user: kind, name as SQL, owner.
 * Indexes belong to their tables, and sequences of columns too. */
static int find_foreign_relations(struct state_run *run, const struct catalog_args *args,
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

static int find_database(struct state_run *run, const void *args, struct resource_seen *ret,
                         struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct catalog_args *want = args;
    struct psql_rows *foreign = ARENA_NEW(run->arena, struct psql_rows);
    struct psql_rows rows;

    buf_add_text(&sql, "SELECT r.rolname, pg_encoding_to_char(d.encoding), d.datcollate, "
                       "d.datctype, t.spcname FROM pg_database d JOIN pg_roles r ON r.oid = "
                       "d.datdba JOIN pg_tablespace t ON t.oid = d.dattablespace WHERE datname = ");
    psql_add_text(&sql, str_from(want->name));
    buf_add_char(&sql, ';');
    if (psql_run(run, &want->login, &sql, &rows, err) < 0)
        return -1;
    if (rows.list.n == 0 || rows.list.p[0].n != ARRAY_LEN(attributes))
        return 0;
    ret->exists = true;
    ret->more = foreign;
    for (size_t i = 0; i < ARRAY_LEN(attributes); i++)
        ret->values[i] = rows.list.p[0].fields[i].p;
    return want->owner_recurse ? find_foreign_relations(run, want, foreign, err) : 0;
}

static int compare_owners(struct state_run *run, const void *args, const struct resource_seen *now,
                          struct err *err)
{
    const struct psql_rows *foreign = now->more;

    (void)err;
    if (foreign->list.n > 0)
        state_differs(run, "%zu relations do not belong to '%s'", foreign->list.n,
                      ((const struct catalog_args *)args)->owner);
    return 0;
}

static int note_owners(struct state_run *run, const void *args, const struct resource_seen *now,
                       struct err *err)
{
    const struct psql_rows *foreign = now->more;
    struct value_list *owners = value_list_new(run->arena, 0);

    (void)args;
    if (!now->exists)
        return 0;
    VEC_EACH (&foreign->list, row) {
        struct value_list *one = value_list_new(run->arena, row->n);

        for (size_t i = 0; i < row->n; i++)
            value_list_push(run->arena, one, value_str(row->fields[i]));
        value_list_push(run->arena, owners, value_list(one));
    }
    return state_note(run, "owners", value_list(owners), err);
}

/* --- changing --------------------------------------------------------------------------- */

static void add_property(struct buf *sql, const char *word, const char *value, bool name)
{
    if (!value)
        return;
    buf_printf(sql, " %s ", word);
    (name ? psql_add_name : psql_add_text)(sql, str_from(value));
}

/* A database cannot be created or dropped inside a transaction. */
static int create_database(struct state_run *run, const struct catalog_args *want,
                           const struct resource_seen *as, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&sql, "CREATE DATABASE ");
    psql_add_name(&sql, str_from(want->name));
    add_property(&sql, "OWNER", as->values[OWNER], true);
    add_property(&sql, "TEMPLATE", as->exists ? "template0" : want->template, true);
    add_property(&sql, "ENCODING", as->values[ENCODING], false);
    add_property(&sql, "LC_COLLATE", as->values[COLLATE], false);
    add_property(&sql, "LC_CTYPE", as->values[CTYPE], false);
    add_property(&sql, "TABLESPACE", as->values[TABLESPACE], true);
    buf_add_char(&sql, ';');
    return psql_run_alone(run, &want->login, &sql, err);
}

static int drop_database(struct state_run *run, const void *args, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct catalog_args *want = args;

    buf_add_text(&sql, "DROP DATABASE ");
    psql_add_name(&sql, str_from(want->name));
    buf_add_char(&sql, ';');
    return psql_run_alone(run, &want->login, &sql, err);
}

/* kind is "DATABASE", "TABLE" or "SCHEMA". */
static void add_owner(struct buf *sql, struct str kind, struct str object, struct str owner)
{
    buf_printf(sql, "ALTER %.*s %.*s OWNER TO ", STR_ARG(kind), STR_ARG(object));
    psql_add_name(sql, owner);
    buf_add_text(sql, ";\n");
}

static int set_database_owner(struct state_run *run, const struct catalog_args *want,
                              const char *owner, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT), name = BUF_INIT(BUF_NO_LIMIT);

    psql_add_name(&name, str_from(want->name));
    add_owner(&sql, STR("DATABASE"), buf_view(&name), str_from(owner));
    return psql_run(run, &want->login, &sql, NULL, err);
}

static int set_tablespace(struct state_run *run, const struct catalog_args *want,
                          const char *tablespace, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&sql, "ALTER DATABASE ");
    psql_add_name(&sql, str_from(want->name));
    add_property(&sql, "SET TABLESPACE", tablespace, true);
    buf_add_char(&sql, ';');
    return psql_run_alone(run, &want->login, &sql, err);
}

/* Gives its relations to the owner, or back as noted. */
static int set_owners(struct state_run *run, const struct catalog_args *want,
                      const struct psql_rows *foreign, bool again, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct psql_login inside = psql_in(&want->login, want->name);
    const struct value *noted = again ? state_noted(run, "owners") : NULL;

    for (size_t i = 0; value_is(noted, VALUE_LIST) && i < noted->list->count; i++) {
        const struct value *one = noted->list->items[i].list->items;

        add_owner(&sql, one[0].s, one[1].s, one[2].s);
    }
    for (size_t i = 0; !again && i < foreign->list.n; i++)
        add_owner(&sql, foreign->list.p[i].fields[0], foreign->list.p[i].fields[1],
                  str_from(want->owner));
    return sql.n > 0 ? psql_run(run, &inside, &sql, NULL, err) : 0;
}

static int define_database(struct state_run *run, const void *args, const struct resource_seen *now,
                           const struct resource_seen *as, struct err *err)
{
    const struct catalog_args *want = args;
    const char *owner = as->values[OWNER], *tablespace = as->values[TABLESPACE];

    if (!now->exists)
        return create_database(run, want, as, err);
    if ((owner && set_database_owner(run, want, owner, err) < 0) ||
        (tablespace && set_tablespace(run, want, tablespace, err) < 0))
        return -1;
    return set_owners(run, want, now->more, as->exists, err);
}

static const struct resource_contents relations = { "relations", "tables", count_relations };

const struct resource catalog_resource = {
    .kind = "database",
    .detail = "database",
    .name = WANT(name),
    .attributes = attributes,
    .n = ARRAY_LEN(attributes),
    .contents = &relations,
    .is_away = is_database_away,
    .find = find_database,
    .compare = compare_owners,
    .note = note_owners,
    .define = define_database,
    .drop = drop_database,
};
