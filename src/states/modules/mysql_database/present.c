/* mysql_database.present - creates a database. */
#include "states/modules/mysql_database/schema.h"
#include "states/state/module.h"

#define ARGS struct schema_args

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the database", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("character_set", STR, ARGS, character_set, "the default character set of its tables", .flags = PARAM_FILLED),
    PARAM("collate", STR, ARGS, collate, "their default collation", .flags = PARAM_FILLED),
    SERVER_PARAMS(ARGS, login),
    { 0 },
};
/* clang-format on */

RESOURCE_STATE(schema_resource, RESOURCE_PRESENT)

const struct module module_mysql_database_present = {
    .name = "mysql_database.present",
    .summary = "create a database of a MySQL or MariaDB server",
    .details = "A revert removes a new database only if it is still empty.",
    .example = "name: app\ncharacter_set: utf8mb4\n",
    .params = present_params,
    .args_size = sizeof(ARGS),
    .lock = SERVER_LOCK,
    .validate = schema_validate,
    RESOURCE_STATE_FIELDS,
};
