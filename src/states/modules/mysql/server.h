/*
 * server - SQL for a MySQL or MariaDB server, through the client program `mariadb` or `mysql`.
 *
 * Statements reach the client by standard input and passwords by its environment, so that nothing
 * secret is on a command line. Parameters `connection_*` identify the server; the rest comes from
 * settings `mysql.host`, `mysql.user`..., as in Salt, then from the option files of the client. If
 * a password is given, option files are not read.
 *
 *     server_add_text(&sql, name); ... server_run(run, login, &sql, &rows, err);
 *
 * Memory: the arena of the run. Threads: any; states that use it share SERVER_LOCK.
 */
#ifndef STATES_MODULES_MYSQL_SERVER_H
#define STATES_MODULES_MYSQL_SERVER_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/params.h"

struct buf;
struct diags;
struct err;
struct state_run;
struct value;

#define SERVER_LOCK "mysql"

struct server_login {
    const char *host, *port, *user, *pass, *db, *socket, *default_file, *charset;
};

/* clang-format off */
#define SERVER_PARAMS(type, in)                                                                                                          \
    PARAM("connection_host", STR, type, in.host, "the host of the server", .flags = PARAM_FILLED),                                           \
    PARAM("connection_port", STR, type, in.port, "its port", .flags = PARAM_FILLED),                                                      \
    PARAM("connection_user", STR, type, in.user, "the user to log in as", .flags = PARAM_FILLED),                                                   \
    PARAM("connection_pass", STR, type, in.pass, "the password", .flags = PARAM_SECRET),                                                \
    PARAM("connection_db", STR, type, in.db, "the current database", .flags = PARAM_FILLED),                                              \
    PARAM("connection_unix_socket", PATH, type, in.socket, "the socket of the server"),                                                   \
    PARAM("connection_default_file", PATH, type, in.default_file, "the option file of the client, instead of the default ones"),              \
    PARAM("connection_charset", STR, type, in.charset, "the character set of the connection", .default_text = "utf8mb4", .flags = PARAM_FILLED)
/* clang-format on */

int server_validate(const struct server_login *login, const struct value *where,
                    struct diags *diags);

/* Lines of fields. NULL in the database is the text "NULL". */
struct server_row {
    const struct str *fields;
    size_t n;
};
struct server_rows {
    VEC(struct server_row) list;
};

/* Run statements that end in semicolons; `ret_rows` may be NULL. An error of the server ends it. */
int server_run(struct state_run *run, const struct server_login *login, const struct buf *sql,
               struct server_rows *ret_rows, struct err *err);
/* Run statements as they are, in the mode that the server has. `ret_xml` are their rows, as the
 * client prints them as XML. */
int server_run_xml(struct state_run *run, const struct server_login *login, struct str sql,
                   struct str *ret_xml, struct err *err);
/* For dry runs: is there no client or server yet? Reports that `what` is not checked, since an
 * earlier state may install it. */
bool server_is_missing(struct state_run *run, const struct server_login *login, const char *what);
/* Can this user log in with this password? */
int server_try_login(struct state_run *run, const struct server_login *login, const char *user,
                     const char *password, bool *ret, struct err *err);
/* MariaDB, or MySQL itself? */
int server_is_mariadb(struct state_run *run, const struct server_login *login, bool *ret,
                      struct err *err);

/* 'text', `name`, and 'user'@'host', quoted. */
void server_add_text(struct buf *sql, struct str text);
void server_add_name(struct buf *sql, struct str name);
void server_add_account(struct buf *sql, const char *user, const char *host);

/* The statement that would create the account, as the server prints it; NULL: it does not exist. */
int server_show_account(struct state_run *run, const struct server_login *login, const char *user,
                        const char *host, const char **ret_statement, struct err *err);

#endif
