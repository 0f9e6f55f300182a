/* postgres_extension.present - an extension is installed in a database. */
#include "core/base/err.h"
#include "states/modules/postgres_extension/installed_extension.h"
#include "states/state/module.h"
#include "states/state/validate.h"

#define ARGS struct present_args

struct present_args {
    const char *name, *schema, *ext_version, *from_db;
    bool if_not_exists;
    struct psql_login login;
};

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the extension", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("if_not_exists", BOOL, ARGS, if_not_exists, "one that exists is fine, which it always is here", .default_text = "true"),
    PARAM("schema", STR, ARGS, schema, "the schema of its objects", .flags = PARAM_FILLED),
    PARAM("ext_version", STR, ARGS, ext_version, "exactly this version", .flags = PARAM_FILLED),
    PARAM("from_db", STR, ARGS, from_db, "refused: servers cannot convert loose objects since version 13", .aliases = "from_version"),
    PSQL_PARAMS(ARGS, login),
    { 0 },
};
/* clang-format on */

static int present_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct present_args *want = args;
    int result = validate_text("name", want->name, VALIDATE_LINE, where, diags) |
                 validate_text("schema", want->schema, VALIDATE_LINE, where, diags) |
                 validate_text("ext_version", want->ext_version, VALIDATE_LINE, where, diags) |
                 psql_validate(&want->login, where, diags);

    if (want->from_db)
        result = value_diag(diags, value_point(where, "from_db"),
                            "'from_db' is not supported: PostgreSQL has no CREATE EXTENSION ... "
                            "FROM since version 13");
    return result;
}

static struct str other(const char *want, struct str have)
{
    return want && !str_is(have, want) ? str_from(want) : STR("");
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    struct installed_extension now;

    if (psql_is_missing(run, &want->login, "the extension"))
        return 0;
    if (installed_extension_find(run, &want->login, want->name, &now, err) < 0)
        return -1;
    if (!now.exists) {
        state_differs(run, "extension '%s' is not installed", want->name);
        state_made(run, "installed extension '%s'", want->name);
        return 0;
    }
    if (other(want->ext_version, now.version).n > 0)
        state_diff(run, "version", now.version.p, want->ext_version);
    if (other(want->schema, now.schema).n > 0)
        state_diff(run, "schema", now.schema.p, want->schema);
    if (!run->differs)
        state_say(run, "extension '%s' is already installed", want->name);
    return 0;
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    struct installed_extension now;
    struct str version, schema;

    if (installed_extension_find(run, &want->login, want->name, &now, err) < 0)
        return -1;
    version = other(want->ext_version, now.version);
    schema = other(want->schema, now.schema);
    if (now.exists && version.n == 0 && schema.n == 0) {
        state_unchanged(run);
        return 0;
    }
    if (installed_extension_note(run, &now, err) < 0)
        return -1;
    state_detail(run, "extension", "%s", want->name);
    return (now.exists ? installed_extension_alter : installed_extension_create)(
        run, &want->login, want->name, schema, version, err);
}

static int present_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct present_args *want = args;
    const struct value *existed = state_noted(run, "existed");
    const struct value *version = state_noted(run, "version"), *schema = state_noted(run, "schema");
    struct installed_extension now;

    if (installed_extension_find(run, &want->login, want->name, &now, err) < 0)
        return -1;
    if (!existed || !now.exists) {
        state_unchanged(run);
        return 0;
    }
    state_say(run, "extension '%s' is as before", want->name);
    if (!existed->b)
        return installed_extension_drop(run, &want->login, want->name, "", err);
    return installed_extension_alter(run, &want->login, want->name,
                                     schema ? other(schema->s.p, now.schema) : STR(""),
                                     version ? other(version->s.p, now.version) : STR(""), err);
}

const struct module module_postgres_extension_present = {
    .name = "postgres_extension.present",
    .summary = "an extension is installed in a database of a PostgreSQL server",
    .details = "'maintenance_db' is the database. Its files come with a package.",
    .example = "name: hstore\nmaintenance_db: app\n",
    .params = present_params,
    .args_size = sizeof(struct present_args),
    .lock = PSQL_LOCK,
    .validate = present_validate,
    .check = present_check,
    .apply = present_apply,
    .revert = present_revert,
};
