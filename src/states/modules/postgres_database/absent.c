/* postgres_database.absent - a database does not exist. */
#include "core/base/err.h"
#include "states/modules/postgres_database/catalog.h"
#include "states/state/module.h"

#define ARGS struct catalog_args

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, ARGS, name, "the database", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PSQL_PARAMS(ARGS, login),
    { 0 },
};
/* clang-format on */

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct catalog_args *want = args;
    struct catalog now;
    int64_t count;

    if (psql_is_missing(run, &want->login, "the database"))
        return 0;
    if (catalog_find(run, want, &now, err) < 0)
        return -1;
    if (!now.exists) {
        state_say(run, "database '%s' does not exist", want->name);
        return 0;
    }
    state_differs(run, "database '%s' exists", want->name);
    state_made(run, "removed database '%s'", want->name);
    if (catalog_count(run, want, &count, err) < 0)
        return -1;
    if (count > 0)
        state_say(run, "its %lld tables cannot be restored by a revert", (long long)count);
    return 0;
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct catalog_args *want = args;
    struct value_list *before = value_list_new(run->arena, CATALOG_PROPERTIES);
    struct catalog now;
    int64_t count;

    if (catalog_find(run, want, &now, err) < 0)
        return -1;
    if (!now.exists) {
        state_unchanged(run);
        return 0;
    }
    for (size_t i = 0; i < CATALOG_PROPERTIES; i++)
        value_list_push(run->arena, before, value_str(now.properties[i]));
    if (catalog_count(run, want, &count, err) < 0 ||
        state_note(run, "relations", value_int(count), err) < 0 ||
        state_note(run, "before", value_list(before), err) < 0)
        return -1;
    state_detail(run, "database", "%s", want->name);
    return catalog_drop(run, want, err);
}

static int absent_revert(struct state_run *run, const void *args, struct err *err)
{
    struct catalog_args want = *(const struct catalog_args *)args;
    const struct value *before = state_noted(run, "before"), *count = state_noted(run, "relations");
    struct catalog now;

    if (catalog_find(run, &want, &now, err) < 0)
        return -1;
    if (!value_is(before, VALUE_LIST) || before->list->count != CATALOG_PROPERTIES || now.exists) {
        state_unchanged(run);
        return 0;
    }
    if (count && count->i > 0)
        return err_set(err, ERR_INVALID, "database '%s' had %lld tables: restore it from a backup",
                       want.name, (long long)count->i);
    want.owner = before->list->items[CATALOG_OWNER].s.p;
    want.encoding = before->list->items[CATALOG_ENCODING].s.p;
    want.lc_collate = before->list->items[CATALOG_COLLATE].s.p;
    want.lc_ctype = before->list->items[CATALOG_CTYPE].s.p;
    want.tablespace = before->list->items[CATALOG_TABLESPACE].s.p;
    want.template = "template0";
    state_say(run, "created database '%s' again", want.name);
    return catalog_create(run, &want, err);
}

const struct module module_postgres_database_absent = {
    .name = "postgres_database.absent",
    .summary = "a database of a PostgreSQL server does not exist",
    .details = "A revert creates an empty database again. One that had tables is not restored.",
    .example = "name: app\n",
    .params = absent_params,
    .args_size = sizeof(struct catalog_args),
    .lock = PSQL_LOCK,
    .validate = catalog_validate,
    .check = absent_check,
    .apply = absent_apply,
    .revert = absent_revert,
};
