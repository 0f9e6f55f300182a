/*
 * schema - a database of a MySQL server and its defaults.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_MYSQL_DATABASE_SCHEMA_H
#define STATES_MODULES_MYSQL_DATABASE_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "states/modules/mysql/server.h"

struct schema_args {
    const char *name, *character_set, *collate;
    struct server_login login;
};

struct schema {
    bool exists;
    const char *character_set, *collate;
    int64_t objects; /* tables, views and routines in it */
};

int schema_validate(const void *args, const struct value *where, struct diags *diags);
int schema_find(struct state_run *run, const struct schema_args *args, struct schema *ret,
                struct err *err);
/* "CREATE DATABASE `x` CHARACTER SET ... COLLATE ..."; NULL leaves a default out. */
int schema_define(struct state_run *run, const struct schema_args *args, const char *verb,
                  const char *character_set, const char *collate, struct err *err);
int schema_drop(struct state_run *run, const struct schema_args *args, struct err *err);

#endif
