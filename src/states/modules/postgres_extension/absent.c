/* postgres_extension.absent - an extension is not installed in a database. */
#include "states/modules/postgres_extension/installed_extension.h"
#include "states/state/module.h"

#define ARGS struct extension_args

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
