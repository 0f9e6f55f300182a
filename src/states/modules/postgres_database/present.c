/* postgres_database.present - a database with these properties. */
#include <ctype.h>
#include <string.h>

#include "core/base/err.h"
#include "states/modules/postgres_database/catalog.h"
#include "states/state/module.h"

#define ARGS struct catalog_args

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the database", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("tablespace", STR, ARGS, tablespace, "where its files are", .flags = PARAM_FILLED),
    PARAM("encoding", STR, ARGS, encoding, "the encoding of its texts: UTF8", .flags = PARAM_FILLED),
    PARAM("lc_collate", STR, ARGS, lc_collate, "the locale that sorts", .flags = PARAM_FILLED),
    PARAM("lc_ctype", STR, ARGS, lc_ctype, "the locale that says what letters are", .flags = PARAM_FILLED),
    PARAM("owner", STR, ARGS, owner, "whose it is", .flags = PARAM_FILLED),
    PARAM("owner_recurse", BOOL, ARGS, owner_recurse, "all tables, views, sequences and schemas in it belong to the owner, too"),
    PARAM("template", STR, ARGS, template, "the database that a new one is a copy of", .flags = PARAM_FILLED),
    PSQL_PARAMS(ARGS, login),
    { 0 },
};
/* clang-format on */

/* UTF-8 and utf8, en_US.UTF-8 and en_US.utf8 are alike. */
static bool is_alike(struct str have, const char *want)
{
    size_t i = 0;

    for (;; want++) {
        while (*want == '-')
            want++;
        while (i < have.n && have.p[i] == '-')
            i++;
        if (i == have.n || *want == '\0')
            return i == have.n && *want == '\0';
        if (tolower((unsigned char)have.p[i++]) != tolower((unsigned char)*want))
            return false;
    }
}

/* What cannot be changed once the database exists. */
static int refuse_fixed(const struct catalog_args *want, const struct catalog *now, struct err *err)
{
    const struct {
        const char *key, *wish;
        enum catalog_property property;
    } fixed[] = {
        { "encoding", want->encoding, CATALOG_ENCODING },
        { "lc_collate", want->lc_collate, CATALOG_COLLATE },
        { "lc_ctype", want->lc_ctype, CATALOG_CTYPE },
    };

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (fixed[i].wish && !is_alike(now->properties[fixed[i].property], fixed[i].wish))
            return err_set(err, ERR_INVALID,
                           "database '%s' has %s %s, want %s: this cannot be changed", want->name,
                           fixed[i].key, now->properties[fixed[i].property].p, fixed[i].wish);
    return 0;
}

static bool owner_differs(const struct catalog_args *want, const struct catalog *now)
{
    return want->owner && !str_is(now->properties[CATALOG_OWNER], want->owner);
}

static bool tablespace_differs(const struct catalog_args *want, const struct catalog *now)
{
    return want->tablespace && !str_is(now->properties[CATALOG_TABLESPACE], want->tablespace);
}

static int find_foreign(struct state_run *run, const struct catalog_args *want,
                        struct psql_rows *ret, struct err *err)
{
    *ret = (struct psql_rows){ 0 };
    return want->owner_recurse ? catalog_find_foreign(run, want, ret, err) : 0;
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct catalog_args *want = args;
    struct psql_rows foreign;
    struct catalog now;

    if (psql_is_missing(run, &want->login, "the database"))
        return 0;
    if (catalog_find(run, want, &now, err) < 0)
        return -1;
    if (!now.exists) {
        state_differs(run, "database '%s' does not exist", want->name);
        state_made(run, "created database '%s'", want->name);
        return 0;
    }
    if (refuse_fixed(want, &now, err) < 0 || find_foreign(run, want, &foreign, err) < 0)
        return -1;
    if (owner_differs(want, &now))
        state_diff(run, "owner", now.properties[CATALOG_OWNER].p, want->owner);
    if (tablespace_differs(want, &now))
        state_diff(run, "tablespace", now.properties[CATALOG_TABLESPACE].p, want->tablespace);
    if (foreign.list.n > 0)
        state_differs(run, "%zu relations do not belong to '%s'", foreign.list.n, want->owner);
    if (!run->differs)
        state_say(run, "database '%s' already exists", want->name);
    return 0;
}

/* --- changing it ------------------------------------------------------------------------ */

static int note_before(struct state_run *run, const struct catalog *now,
                       const struct psql_rows *foreign, struct err *err)
{
    struct value_list *owners = value_list_new(run->arena, foreign->list.n);

    VEC_EACH (&foreign->list, row) {
        struct value_list *one = value_list_new(run->arena, row->n);

        for (size_t i = 0; i < row->n; i++)
            value_list_push(run->arena, one, value_str(row->fields[i]));
        value_list_push(run->arena, owners, value_list(one));
    }
    if (state_note(run, "existed", value_bool(now->exists), err) < 0)
        return -1;
    if (!now->exists)
        return 0;
    if (state_note(run, "owner", value_str(now->properties[CATALOG_OWNER]), err) < 0 ||
        state_note(run, "tablespace", value_str(now->properties[CATALOG_TABLESPACE]), err) < 0)
        return -1;
    return state_note(run, "owners", value_list(owners), err);
}

static int set_owner(struct state_run *run, const struct catalog_args *want, struct str owner,
                     struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT), name = BUF_INIT(BUF_NO_LIMIT);

    psql_add_name(&name, str_from(want->name));
    catalog_add_owner(&sql, STR("DATABASE"), buf_view(&name), owner);
    return psql_run(run, &want->login, &sql, NULL, err);
}

static int set_tablespace(struct state_run *run, const struct catalog_args *want,
                          struct str tablespace, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);

    buf_add_text(&sql, "ALTER DATABASE ");
    psql_add_name(&sql, str_from(want->name));
    buf_add_text(&sql, " SET TABLESPACE ");
    psql_add_name(&sql, tablespace);
    buf_add_char(&sql, ';');
    return psql_run_alone(run, &want->login, &sql, err);
}

static int own_all(struct state_run *run, const struct catalog_args *want,
                   const struct psql_rows *foreign, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct psql_login inside = psql_in(&want->login, want->name);

    VEC_EACH (&foreign->list, row)
        catalog_add_owner(&sql, row->fields[0], row->fields[1], str_from(want->owner));
    return sql.n > 0 ? psql_run(run, &inside, &sql, NULL, err) : 0;
}

static int create(struct state_run *run, const struct catalog_args *want, struct err *err)
{
    int64_t count;

    if (catalog_create(run, want, err) < 0 || catalog_count(run, want, &count, err) < 0)
        return -1;
    return state_note(run, "relations", value_int(count), err);
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct catalog_args *want = args;
    struct psql_rows foreign = { 0 };
    struct catalog now;

    if (catalog_find(run, want, &now, err) < 0 ||
        (now.exists &&
         (refuse_fixed(want, &now, err) < 0 || find_foreign(run, want, &foreign, err) < 0)))
        return -1;
    if (now.exists && !owner_differs(want, &now) && !tablespace_differs(want, &now) &&
        foreign.list.n == 0) {
        state_unchanged(run);
        return 0;
    }
    if (note_before(run, &now, &foreign, err) < 0)
        return -1;
    state_detail(run, "database", "%s", want->name);
    if (!now.exists)
        return create(run, want, err);
    if ((owner_differs(want, &now) && set_owner(run, want, str_from(want->owner), err) < 0) ||
        (tablespace_differs(want, &now) &&
         set_tablespace(run, want, str_from(want->tablespace), err) < 0))
        return -1;
    return own_all(run, want, &foreign, err);
}

/* --- going back ------------------------------------------------------------------------- */

/* What others have put into it since then is not ours to drop. */
static int drop_if_unused(struct state_run *run, const struct catalog_args *want, struct err *err)
{
    const struct value *relations = state_noted(run, "relations");
    int64_t count;

    if (catalog_count(run, want, &count, err) < 0)
        return -1;
    if (count > (relations ? relations->i : 0))
        return err_set(err, ERR_INVALID, "database '%s' is not removed: it has %lld tables by now",
                       want->name, (long long)count);
    state_say(run, "removed database '%s'", want->name);
    return catalog_drop(run, want, err);
}

static int restore_owners(struct state_run *run, const struct catalog_args *want, struct err *err)
{
    AUTO_BUF struct buf sql = BUF_INIT(BUF_NO_LIMIT);
    const struct psql_login inside = psql_in(&want->login, want->name);
    const struct value *owners = state_noted(run, "owners");

    for (size_t i = 0; value_is(owners, VALUE_LIST) && i < owners->list->count; i++) {
        const struct value_list *one = owners->list->items[i].list;

        catalog_add_owner(&sql, one->items[0].s, one->items[1].s, one->items[2].s);
    }
    return sql.n > 0 ? psql_run(run, &inside, &sql, NULL, err) : 0;
}

static int present_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct catalog_args *want = args;
    const struct value *existed = state_noted(run, "existed"), *owner = state_noted(run, "owner");
    const struct value *tablespace = state_noted(run, "tablespace");
    struct catalog now;

    if (catalog_find(run, want, &now, err) < 0)
        return -1;
    if (!existed || !now.exists) {
        state_unchanged(run);
        return 0;
    }
    if (!existed->b)
        return drop_if_unused(run, want, err);
    state_say(run, "database '%s' is as before", want->name);
    if ((want->owner && owner && set_owner(run, want, owner->s, err) < 0) ||
        (want->tablespace && tablespace && set_tablespace(run, want, tablespace->s, err) < 0))
        return -1;
    return restore_owners(run, want, err);
}

const struct module module_postgres_database_present = {
    .name = "postgres_database.present",
    .summary = "a database of a PostgreSQL server, with these properties",
    .details = "Encoding and locales cannot be changed: others than asked for are an error. A "
               "revert removes a database that was created only while nothing was added to it.",
    .example = "name: app\nowner: frank\nencoding: UTF8\n",
    .params = present_params,
    .args_size = sizeof(struct catalog_args),
    .lock = PSQL_LOCK,
    .validate = catalog_validate,
    .check = present_check,
    .apply = present_apply,
    .revert = present_revert,
};
