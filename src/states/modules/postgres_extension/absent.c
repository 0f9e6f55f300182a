/* postgres_extension.absent - an extension is not installed in a database. */
#include "core/base/err.h"
#include "states/modules/postgres_extension/installed_extension.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct absent_args

struct absent_args {
    const char *name;
    bool if_exists, restrict_drop, cascade;
    struct psql_login login;
};

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, ARGS, name, "the extension", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("if_exists", BOOL, ARGS, if_exists, "one that does not exist is fine, which it always is here", .default_text = "true"),
    PARAM("restrict", BOOL, ARGS, restrict_drop, "it stays when something depends on it"),
    PARAM("cascade", BOOL, ARGS, cascade, "what depends on it goes, too; a revert does not restore that"),
    PSQL_PARAMS(ARGS, login),
    { 0 },
};
/* clang-format on */

static int absent_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct absent_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_LINE, where, diags) |
                 psql_validate(&want->login, where, diags);

    if (want->cascade && want->restrict_drop)
        result = value_diag(diags, value_point(where, "cascade"),
                            "'cascade' and 'restrict' cannot both be true");
    return result;
}

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    struct installed_extension now;

    if (psql_is_missing(run, &want->login, "the extension"))
        return 0;
    if (installed_extension_find(run, &want->login, want->name, &now, err) < 0)
        return -1;
    if (!now.exists) {
        state_say(run, "extension '%s' is not installed", want->name);
        return 0;
    }
    state_differs(run, "extension '%s' is installed", want->name);
    state_made(run, "removed extension '%s'", want->name);
    return 0;
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    struct installed_extension now;

    if (installed_extension_find(run, &want->login, want->name, &now, err) < 0)
        return -1;
    if (!now.exists) {
        state_unchanged(run);
        return 0;
    }
    if (installed_extension_note(run, &now, err) < 0)
        return -1;
    state_detail(run, "extension", "%s", want->name);
    return installed_extension_drop(run, &want->login, want->name,
                                    want->cascade         ? " CASCADE"
                                    : want->restrict_drop ? " RESTRICT"
                                                          : "",
                                    err);
}

static int absent_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct absent_args *want = args;
    const struct value *version = state_noted(run, "version"), *schema = state_noted(run, "schema");
    struct installed_extension now;

    if (installed_extension_find(run, &want->login, want->name, &now, err) < 0)
        return -1;
    if (!version || !schema || now.exists) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "installed extension '%s' again", want->name);
    return installed_extension_create(run, &want->login, want->name, schema->s, version->s, err);
}

const struct module module_postgres_extension_absent = {
    .name = "postgres_extension.absent",
    .summary = "an extension is not installed in a database of a PostgreSQL server",
    .example = "name: hstore\nmaintenance_db: app\n",
    .params = absent_params,
    .args_size = sizeof(struct absent_args),
    .lock = PSQL_LOCK,
    .validate = absent_validate,
    .check = absent_check,
    .apply = absent_apply,
    .revert = absent_revert,
};
