/* postgres_database.present - a database with these properties. */
#include "states/modules/postgres_database/catalog.h"
#include "states/state/module.h"

#define ARGS struct catalog_args

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the database", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("tablespace", STR, ARGS, tablespace, "the tablespace of its files", .flags = PARAM_FILLED),
    PARAM("encoding", STR, ARGS, encoding, "the encoding of its texts: UTF8", .flags = PARAM_FILLED),
    PARAM("lc_collate", STR, ARGS, lc_collate, "the locale for sorting", .flags = PARAM_FILLED),
    PARAM("lc_ctype", STR, ARGS, lc_ctype, "the locale for character classes", .flags = PARAM_FILLED),
    PARAM("owner", STR, ARGS, owner, "owner of the database", .flags = PARAM_FILLED),
    PARAM("owner_recurse", BOOL, ARGS, owner_recurse, "all tables, views, sequences and schemas in it belong to the owner, too"),
    PARAM("template", STR, ARGS, template, "the database that a new one is a copy of", .flags = PARAM_FILLED),
    PSQL_PARAMS(ARGS, login),
    { 0 },
};
/* clang-format on */

RESOURCE_STATE(catalog_resource, RESOURCE_PRESENT)

const struct module module_postgres_database_present = {
    .name = "postgres_database.present",
    .summary = "a database of a PostgreSQL server, with these properties",
    .details = "Encoding and locales cannot be changed: others than asked for are an error. A "
               "revert removes a database that was created only while nothing was added to it.",
    .example = "name: app\nowner: frank\nencoding: UTF8\n",
    .params = present_params,
    .args_size = sizeof(ARGS),
    .lock = PSQL_LOCK,
    .validate = catalog_validate,
    RESOURCE_STATE_FIELDS,
};
