/*
 * installed_extension - an extension in a database of a PostgreSQL server.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_POSTGRES_EXTENSION_INSTALLED_EXTENSION_H
#define STATES_MODULES_POSTGRES_EXTENSION_INSTALLED_EXTENSION_H

#include <stdbool.h>

#include "states/modules/postgres/psql.h"
#include "states/state/resource.h"

struct extension_args {
    const char *name, *schema, *ext_version, *from_db;
    bool if_exists, restrict_drop, cascade;
    struct psql_login login;
};

extern const struct resource extension_resource;

int extension_validate(const void *args, const struct value *where, struct diags *diags);

#endif
