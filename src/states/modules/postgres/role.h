/*
 * role - a role of a PostgreSQL server: a user when it may log in, else a group.
 *
 * The states of both are tables over these functions; a revert restores attributes, password and
 * memberships, of a role that was removed also its members and settings.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_POSTGRES_ROLE_H
#define STATES_MODULES_POSTGRES_ROLE_H

#include <stdbool.h>

#include "states/modules/postgres/psql.h"
#include "states/state/resource.h"

struct role_args {
    const char *name, *password, *default_password, *valid_until;
    const struct value *encrypted;
    enum param_tristate createdb, createroles, superuser, replication, inherit, may_login;
    struct param_strs groups;
    bool refresh_password;
    struct psql_login login;
};

/* clang-format off */
#define ROLE_PARAMS(word)                                                                                                                                    \
    PARAM("name", STR, struct role_args, name, "the " word, .flags = PARAM_REQUIRED | PARAM_PRIMARY),                                                         \
    PARAM("createdb", TRISTATE, struct role_args, createdb, "may create databases"),                                                                      \
    PARAM("createroles", TRISTATE, struct role_args, createroles, "may create other roles", .aliases = "createuser"),                                     \
    PARAM("encrypted", ANY, struct role_args, encrypted, "how the password is stored: 'md5' (or true), or 'scram-sha-256'; as the server is set up", .kind_text = "string"), \
    PARAM("superuser", TRISTATE, struct role_args, superuser, "is a superuser"),                                                                       \
    PARAM("replication", TRISTATE, struct role_args, replication, "may replicate the server"),                                                            \
    PARAM("inherit", TRISTATE, struct role_args, inherit, "inherits the privileges of its groups"),                                                            \
    PARAM("login", TRISTATE, struct role_args, may_login, "may log in"),                                                                                  \
    PARAM("password", STR, struct role_args, password, "its password, or the stored hash (md5..., SCRAM-SHA-256$...)", .flags = PARAM_SECRET),   \
    PARAM("refresh_password", BOOL, struct role_args, refresh_password, "set the password each time, without comparing it"),                                  \
    PARAM("groups", STRS, struct role_args, groups, "roles that it is a member of, as a list or between commas"),                                             \
    PSQL_PARAMS(struct role_args, login)
/* clang-format on */

int role_validate(const void *args, const struct value *where, struct diags *diags);

extern const struct resource role_user, role_group;

#define ROLE_STATE_FIELDS                                                                          \
    .args_size = sizeof(struct role_args), .lock = PSQL_LOCK, .validate = role_validate,           \
    RESOURCE_STATE_FIELDS

#endif
