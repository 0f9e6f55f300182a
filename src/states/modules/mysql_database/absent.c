/* mysql_database.absent - removes a database. */
#include "core/base/err.h"
#include "states/modules/mysql_database/schema.h"
#include "states/state/module.h"

#define ARGS struct schema_args

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, ARGS, name, "the database", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    SERVER_PARAMS(ARGS, login),
    { 0 },
};
/* clang-format on */

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct schema_args *want = args;
    struct schema now;

    if (server_is_missing(run, &want->login, "the database"))
        return 0;
    if (schema_find(run, want, &now, err) < 0)
        return -1;
    if (!now.exists) {
        state_say(run, "database '%s' does not exist", want->name);
        return 0;
    }
    state_differs(run, "database '%s' exists", want->name);
    state_made(run, "removed database '%s'", want->name);
    if (now.objects > 0)
        state_say(run, "its %lld tables and routines cannot be restored by a revert",
                  (long long)now.objects);
    return 0;
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct schema_args *want = args;
    struct schema now;

    if (schema_find(run, want, &now, err) < 0)
        return -1;
    if (!now.exists) {
        state_unchanged(run);
        return 0;
    }
    if (state_note(run, "objects", value_int(now.objects), err) < 0 ||
        state_note(run, "character_set", value_text(now.character_set), err) < 0 ||
        state_note(run, "collate", value_text(now.collate), err) < 0)
        return -1;
    state_detail(run, "database", "%s", want->name);
    return schema_drop(run, want, err);
}

static int absent_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct schema_args *want = args;
    const struct value *objects = state_noted(run, "objects");
    const struct value *set = state_noted(run, "character_set");
    const struct value *collate = state_noted(run, "collate");
    struct schema now = { 0 };

    if (objects && set && collate && schema_find(run, want, &now, err) < 0)
        return -1;
    if (!objects || !set || !collate ||
        now.exists) { /* a run that was canceled has not removed it */
        state_unchanged(run);
        return 0;
    }
    if (objects->i > 0)
        return err_set(err, ERR_INVALID,
                       "database '%s' had %lld tables and routines: restore it from a backup",
                       want->name, (long long)objects->i);
    state_say(run, "created database '%s' again", want->name);
    return schema_define(run, want, "CREATE", set->s.p, collate->s.p, err);
}

const struct module module_mysql_database_absent = {
    .name = "mysql_database.absent",
    .summary = "remove a database of a MySQL or MariaDB server",
    .details = "A revert creates an empty database again. One that had tables is not restored.",
    .example = "name: app\n",
    .params = absent_params,
    .args_size = sizeof(struct schema_args),
    .lock = SERVER_LOCK,
    .validate = schema_validate,
    .check = absent_check,
    .apply = absent_apply,
    .revert = absent_revert,
};
