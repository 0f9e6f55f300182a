/*
 * identity - how a MySQL account authenticates: a plugin and its stored value.
 *
 * It is read from the statement that the server prints for an account:
 *
 *     CREATE USER `a`@`h` IDENTIFIED BY PASSWORD '*6C89...'                          MariaDB
 *     CREATE USER `a`@`h` IDENTIFIED VIA mysql_native_password USING '*6C89...' OR unix_socket
 *     CREATE USER `a`@`h` IDENTIFIED WITH 'caching_sha2_password' AS '...' REQUIRE   MySQL
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_MODULES_MYSQL_USER_IDENTITY_H
#define STATES_MODULES_MYSQL_USER_IDENTITY_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct err;

#define IDENTITY_NATIVE "mysql_native_password"

struct mysql_identity {
    struct str plugin;
    struct str hash; /* empty: none */
    bool several;    /* others are accepted as well */
};

void identity_parse(struct arena *arena, struct str statement, struct mysql_identity *ret);

/* The statement that makes an existing account what `statement` would create. */
const char *identity_alter(struct arena *arena, struct str statement);

/* The hash that mysql_native_password stores: '*' and 40 digits. */
int identity_hash_native(struct arena *arena, const char *password, const char **ret,
                         struct err *err);

#endif
