/*
 * schema - a database of a MySQL server and its defaults.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_MYSQL_DATABASE_SCHEMA_H
#define STATES_MODULES_MYSQL_DATABASE_SCHEMA_H

#include "states/modules/mysql/server.h"
#include "states/state/resource.h"

struct schema_args {
    const char *name, *character_set, *collate;
    struct server_login login;
};

extern const struct resource schema_resource;

int schema_validate(const void *args, const struct value *where, struct diags *diags);

#endif
