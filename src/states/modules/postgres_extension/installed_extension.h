/*
 * installed_extension - an extension in a database of a PostgreSQL server.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_POSTGRES_EXTENSION_INSTALLED_EXTENSION_H
#define STATES_MODULES_POSTGRES_EXTENSION_INSTALLED_EXTENSION_H

#include <stdbool.h>

#include "states/modules/postgres/psql.h"

struct installed_extension {
    bool exists;
    struct str version, schema;
};

int installed_extension_find(struct state_run *run, const struct psql_login *login,
                             const char *name, struct installed_extension *ret, struct err *err);
int installed_extension_note(struct state_run *run, const struct installed_extension *now,
                             struct err *err);
int installed_extension_create(struct state_run *run, const struct psql_login *login,
                               const char *name, struct str schema, struct str version,
                               struct err *err);
/* `how`: "", " CASCADE" or " RESTRICT". */
int installed_extension_drop(struct state_run *run, const struct psql_login *login,
                             const char *name, const char *how, struct err *err);
/* Another version or schema; empty ones stay. */
int installed_extension_alter(struct state_run *run, const struct psql_login *login,
                              const char *name, struct str schema, struct str version,
                              struct err *err);

#endif
