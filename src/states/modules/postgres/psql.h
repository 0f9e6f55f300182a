/*
 * psql - SQL for a PostgreSQL server, through its client program.
 *
 * Statements reach psql by standard input and passwords by its environment, so that nothing secret
 * is on a command line. Parameters `db_*` say where the server is; what they leave out comes from
 * settings `postgres.host`, `postgres.user`..., as in Salt. The client runs as the system user
 * `user`; when that is not given and the server is on this machine, as postgres, if we may.
 *
 *     psql_add_text(&sql, name); ... psql_run(run, login, &sql, &rows, err);
 *
 * Memory: the arena of the run. Threads: any; states that use it share PSQL_LOCK.
 */
#ifndef STATES_MODULES_POSTGRES_PSQL_H
#define STATES_MODULES_POSTGRES_PSQL_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"

struct diags;
struct err;
struct state_run;
struct value;

#define PSQL_LOCK "postgres"

struct psql_login {
    const char *runas, *database, *password, *host, *port, *user;
};

/* clang-format off */
#define PSQL_PARAMS(type, in)                                                                                                \
    PARAM("user", STR, type, in.runas, "the system user that runs the client; postgres for a server on this machine"),        \
    PARAM("maintenance_db", STR, type, in.database, "the database to connect to; postgres", .flags = PARAM_FILLED),           \
    PARAM("db_user", STR, type, in.user, "the database user", .flags = PARAM_FILLED),                                               \
    PARAM("db_password", STR, type, in.password, "password of the database user", .flags = PARAM_SECRET),                                    \
    PARAM("db_host", STR, type, in.host, "host of the server, or the folder of its socket", .flags = PARAM_FILLED),          \
    PARAM("db_port", STR, type, in.port, "its port", .flags = PARAM_FILLED)
/* clang-format on */

int psql_validate(const struct psql_login *login, const struct value *where, struct diags *diags);

struct psql_row {
    const struct str *fields; /* NULL in the database is an empty text; each ends in a NUL */
    size_t n;
};
struct psql_rows {
    VEC(struct psql_row) list;
};

/* Run statements that end in semicolons, in one transaction; `ret_rows` may be NULL, and is of one
 * SELECT. Alone: a statement that no transaction may hold, such as CREATE DATABASE. */
int psql_run(struct state_run *run, const struct psql_login *login, const struct buf *sql,
             struct psql_rows *ret_rows, struct err *err);
int psql_run_alone(struct state_run *run, const struct psql_login *login, const struct buf *sql,
                   struct err *err);
/* The same login, connected to another database. */
struct psql_login psql_in(const struct psql_login *login, const char *database);

/* For dry runs: is there no client or no server yet? Says so, and that `what` is not checked. An
 * earlier state may install it. */
bool psql_is_missing(struct state_run *run, const struct psql_login *login, const char *what);

/* 'text' and "name", quoted. */
void psql_add_text(struct buf *sql, struct str text);
void psql_add_name(struct buf *sql, struct str name);

/* Fields that are lists are joined by this (chr(29) in SQL). */
#define PSQL_JOINT '\x1d'

#endif
