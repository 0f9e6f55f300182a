/*
 * grants - what a MySQL account is granted on one object: reading it, and changing it into
 * something else.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_MYSQL_GRANTS_GRANTS_H
#define STATES_MODULES_MYSQL_GRANTS_GRANTS_H

#include <stdbool.h>

#include "states/modules/mysql/server.h"
#include "states/modules/mysql_grants/privileges.h"

struct grants_args {
    const char *name, *grant, *database, *user, *host;
    bool grant_option, escape, revoke_first;
    const struct value *ssl_option;
    struct server_login login;
};

/* clang-format off */
#define GRANTS_PARAMS                                                                                                                         \
    PARAM("name", STR, struct grants_args, name, "a name for the state, not part of the grant", .flags = PARAM_REQUIRED | PARAM_PRIMARY),   \
    PARAM("grant", STR, struct grants_args, grant, "privileges: select, insert (column), all privileges", .flags = PARAM_REQUIRED | PARAM_FILLED),  \
    PARAM("database", STR, struct grants_args, database, "the object: *.*, db.*, db.table, PROCEDURE db.name", .flags = PARAM_REQUIRED | PARAM_FILLED), \
    PARAM("user", STR, struct grants_args, user, "the user to grant them to", .flags = PARAM_REQUIRED),                                                     \
    PARAM("host", STR, struct grants_args, host, "the host the user logs in from", .default_text = "localhost"),                                 \
    PARAM("grant_option", BOOL, struct grants_args, grant_option, "with grant option: the user may grant them to others"),                                               \
    PARAM("escape", BOOL, struct grants_args, escape, "'_' and '%' in the name of a database are not wildcards", .default_text = "true"),     \
    SERVER_PARAMS(struct grants_args, login)
/* clang-format on */

int grants_validate(const void *args, const struct value *where, struct diags *diags);

/* A state while it runs. */
struct mysql_grants {
    struct str object;
    struct privileges want, have;
    const char *account; /* the statement that would create it; NULL: it does not exist */
};
int grants_read(struct state_run *run, const struct grants_args *args, struct mysql_grants *ret,
                struct err *err);

/* Revoke these, then grant those. */
int grants_change(struct state_run *run, const struct grants_args *args, struct str object,
                  const struct privileges *less, const struct privileges *more, struct err *err);

/* Note the previous privileges, and revert to them. */
int grants_note(struct state_run *run, const struct mysql_grants *grants, struct err *err);
int grants_revert(struct state_run *run, const void *args, struct err *err);

/* "SSL", or "SUBJECT 'x' AND ISSUER 'y'" from `ssl_option`; empty for none. */
int grants_read_ssl(struct arena *arena, const struct value *option, struct str *ret,
                    struct err *err);
/* Does the account require all of it already? */
bool grants_has_ssl(struct arena *arena, const char *account, const struct value *option);

#endif
