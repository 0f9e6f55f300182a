/*
 * catalog - a database of a PostgreSQL server: is it there, and with which properties?
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_POSTGRES_DATABASE_CATALOG_H
#define STATES_MODULES_POSTGRES_DATABASE_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "states/modules/postgres/psql.h"

struct catalog_args {
    const char *name, *tablespace, *encoding, *lc_collate, *lc_ctype, *owner, *template;
    bool owner_recurse;
    struct psql_login login;
};

enum catalog_property {
    CATALOG_OWNER,
    CATALOG_ENCODING,
    CATALOG_COLLATE,
    CATALOG_CTYPE,
    CATALOG_TABLESPACE,
};
#define CATALOG_PROPERTIES (CATALOG_TABLESPACE + 1)

struct catalog {
    bool exists;
    struct str properties[CATALOG_PROPERTIES]; /* each ends in a NUL */
};

int catalog_validate(const void *args, const struct value *where, struct diags *diags);
int catalog_find(struct state_run *run, const struct catalog_args *args, struct catalog *ret,
                 struct err *err);
/* Tables, views and sequences in it that are not the server's own. */
int catalog_count(struct state_run *run, const struct catalog_args *args, int64_t *ret,
                  struct err *err);
int catalog_create(struct state_run *run, const struct catalog_args *args, struct err *err);
int catalog_drop(struct state_run *run, const struct catalog_args *args, struct err *err);

/* Relations (and schemas) of the database that belong to another user: names as SQL, and owners. */
int catalog_find_foreign(struct state_run *run, const struct catalog_args *args,
                         struct psql_rows *ret, struct err *err);
/* SQL for a new owner; kind is "DATABASE", "TABLE" or "SCHEMA". */
void catalog_add_owner(struct buf *sql, struct str kind, struct str object, struct str owner);

#endif
