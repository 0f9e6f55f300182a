/*
 * catalog - a database of a PostgreSQL server, for the states that create and remove it.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_POSTGRES_DATABASE_CATALOG_H
#define STATES_MODULES_POSTGRES_DATABASE_CATALOG_H

#include <stdbool.h>

#include "states/modules/postgres/psql.h"
#include "states/state/resource.h"

struct catalog_args {
    const char *name, *tablespace, *encoding, *lc_collate, *lc_ctype, *owner, *template;
    bool owner_recurse;
    struct psql_login login;
};

extern const struct resource catalog_resource;

int catalog_validate(const void *args, const struct value *where, struct diags *diags);

#endif
