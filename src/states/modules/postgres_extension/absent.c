/* postgres_extension.absent - an extension is not installed in a database. */
#include "states/modules/postgres_extension/installed_extension.h"
#include "states/state/module.h"

#define ARGS struct extension_args

/* clang-format off */
static const struct param absent_params[] = {
    PARAM("name", STR, ARGS, name, "the extension", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("if_exists", BOOL, ARGS, if_exists, "always true here: an extension that does not exist is fine", .default_text = "true"),
    PARAM("restrict", BOOL, ARGS, restrict_drop, "fail if other objects depend on it"),
    PARAM("cascade", BOOL, ARGS, cascade, "drop dependent objects, too; a revert does not restore them"),
    PSQL_PARAMS(ARGS, login),
    { 0 },
};
/* clang-format on */

RESOURCE_STATE(extension_resource, RESOURCE_ABSENT)

const struct module module_postgres_extension_absent = {
    .name = "postgres_extension.absent",
    .summary = "an extension is not installed in a database of a PostgreSQL server",
    .example = "name: hstore\nmaintenance_db: app\n",
    .params = absent_params,
    .args_size = sizeof(ARGS),
    .lock = PSQL_LOCK,
    .validate = extension_validate,
    RESOURCE_STATE_FIELDS,
};
