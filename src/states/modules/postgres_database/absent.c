/* postgres_database.absent - a database does not exist. */
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

RESOURCE_STATE(catalog_resource, RESOURCE_ABSENT)

const struct module module_postgres_database_absent = {
    .name = "postgres_database.absent",
    .summary = "a database of a PostgreSQL server does not exist",
    .details = "A revert creates an empty database again. One that had tables is not restored.",
    .example = "name: app\n",
    .params = absent_params,
    .args_size = sizeof(ARGS),
    .lock = PSQL_LOCK,
    .validate = catalog_validate,
    RESOURCE_STATE_FIELDS,
};
