/* postgres_extension.present - an extension is installed in a database. */
#include "states/modules/postgres_extension/installed_extension.h"
#include "states/state/module.h"

#define ARGS struct extension_args

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the extension", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("if_not_exists", BOOL, ARGS, if_exists, "always true here: an existing extension is fine", .default_text = "true"),
    PARAM("schema", STR, ARGS, schema, "the schema of its objects", .flags = PARAM_FILLED),
    PARAM("ext_version", STR, ARGS, ext_version, "exactly this version", .flags = PARAM_FILLED),
    PARAM("from_db", STR, ARGS, from_db, "refused: servers cannot convert loose objects since version 13", .aliases = "from_version"),
    PSQL_PARAMS(ARGS, login),
    { 0 },
};
/* clang-format on */

RESOURCE_STATE(extension_resource, RESOURCE_PRESENT)

const struct module module_postgres_extension_present = {
    .name = "postgres_extension.present",
    .summary = "an extension is installed in a database of a PostgreSQL server",
    .details = "'maintenance_db' is the database. Its files come with a package.",
    .example = "name: hstore\nmaintenance_db: app\n",
    .params = present_params,
    .args_size = sizeof(ARGS),
    .lock = PSQL_LOCK,
    .validate = extension_validate,
    RESOURCE_STATE_FIELDS,
};
