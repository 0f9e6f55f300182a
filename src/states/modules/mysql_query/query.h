/*
 * query - statements that a state runs in a database, and the rows they return.
 *
 * The rows are among the details of the result, as maps of columns to texts, and may be written to
 * a file: a line "column:value" for each field, as Salt does it. A dry run runs no statement.
 *
 * Memory: the arena of the run. Threads: any; states that use it share SERVER_LOCK.
 */
#ifndef STATES_MODULES_MYSQL_QUERY_QUERY_H
#define STATES_MODULES_MYSQL_QUERY_QUERY_H

#include <stdbool.h>

#include "core/base/str.h"
#include "states/modules/mysql/server.h"

struct diags;
struct err;
struct state_run;
struct value;

struct query_args {
    const char *name, *database, *output;
    bool overwrite, check_db_exists;
    struct server_login login;
};

/* clang-format off */
#define QUERY_PARAMS(type, in)                                                                                                            \
    PARAM("name", STR, type, in.name, "any text", .flags = PARAM_PRIMARY),                                                                  \
    PARAM("database", STR, type, in.database, "the database", .flags = PARAM_REQUIRED | PARAM_FILLED),                                      \
    PARAM("output", PATH, type, in.output, "a file for the rows: a line 'column:value' for each field"),                                    \
    PARAM("overwrite", BOOL, type, in.overwrite, "false: do nothing when the file of 'output' exists", .default_text = "true"),             \
    PARAM("check_db_exists", BOOL, type, in.check_db_exists, "fail before the query when the database does not exist", .default_text = "true"), \
    SERVER_PARAMS(type, in.login),                                                                                                          \
    PARAM_REFUSED("grain", "rows are among the details: outputs('mysql_query.run:ID').results"),                                            \
    PARAM_REFUSED("key", "rows are among the details: outputs('mysql_query.run:ID').results"),                                              \
    PARAM_REFUSED("client_flags", "the client of the system connects; write its options into connection_default_file")
/* clang-format on */

int query_validate(const struct query_args *args, const struct value *where, struct diags *diags);
int query_check(struct state_run *run, const struct query_args *args, struct err *err);
/* `sql` may lack the semicolon at its end. */
int query_apply(struct state_run *run, const struct query_args *args, struct str sql,
                struct err *err);
/* Files come back; what the statements did stays. */
int query_revert(struct state_run *run, const struct query_args *args);

/* The rows of all results in what the client prints: a list of maps. */
struct value query_rows(struct arena *arena, struct str xml);

#endif
