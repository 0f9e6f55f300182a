/* mysql_database.absent - removes a database. */
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

RESOURCE_STATE(schema_resource, RESOURCE_ABSENT)

const struct module module_mysql_database_absent = {
    .name = "mysql_database.absent",
    .summary = "remove a database of a MySQL or MariaDB server",
    .details = "A revert creates an empty database again. One that had tables is not restored.",
    .example = "name: app\n",
    .params = absent_params,
    .args_size = sizeof(ARGS),
    .lock = SERVER_LOCK,
    .validate = schema_validate,
    RESOURCE_STATE_FIELDS,
};
