/*
 * acl - what a role may do with objects of a PostgreSQL server, as the access lists have it:
 * what others have (PUBLIC, groups) does not count.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_POSTGRES_PRIVILEGES_ACL_H
#define STATES_MODULES_POSTGRES_PRIVILEGES_ACL_H

#include <stdbool.h>

#include "states/modules/postgres/psql.h"

struct acl_args {
    const char *name, *object_name, *prepend;
    int object_type;
    struct param_strs privileges;
    bool grant_option;
    struct psql_login login;
};

#define ACL_TYPES "table|sequence|schema|tablespace|language|database|group|function"

/* clang-format off */
#define ACL_PARAMS                                                                                                                                  \
    PARAM("name", STR, struct acl_args, name, "the role; public: everybody", .flags = PARAM_REQUIRED | PARAM_PRIMARY),                               \
    PARAM("object_name", STR, struct acl_args, object_name, "the object; ALL: every table or sequence of the schema", .flags = PARAM_REQUIRED | PARAM_FILLED), \
    PARAM("object_type", CHOICE, struct acl_args, object_type, "type of the object", .choices = ACL_TYPES, .flags = PARAM_REQUIRED),                         \
    PARAM("privileges", STRS, struct acl_args, privileges, "SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER, USAGE, CREATE, CONNECT, TEMPORARY, EXECUTE or ALL; none for a group"), \
    PARAM("prepend", STR, struct acl_args, prepend, "the schema of tables, sequences and functions", .default_text = "public", .flags = PARAM_FILLED), \
    PSQL_PARAMS(struct acl_args, login)
/* clang-format on */

int acl_validate(const void *args, const struct value *where, struct diags *diags);

/* One privilege on one object. */
struct acl_entry {
    struct str object; /* as SQL */
    struct str privilege;
    bool grantable;
};
struct acl_entries {
    VEC(struct acl_entry) list;
};

struct privilege_list {
    bool has_role, every; /* every: all of a schema, which may be none */
    VEC(struct str) objects;
    struct acl_entries have, want;
};
/* Reads the privileges that the role has and those that it should have. */
int acl_read(struct state_run *run, const struct acl_args *args, struct privilege_list *ret,
             struct err *err);

/* "table", "group". */
const char *acl_type_word(const struct acl_args *args);
/* The entry for an object and a privilege; NULL. */
const struct acl_entry *acl_find(const struct acl_entries *entries, const struct acl_entry *like);

/* Take these away, then give those. */
int acl_change(struct state_run *run, const struct acl_args *args, const struct acl_entries *less,
               const struct acl_entries *more, struct err *err);
int acl_note(struct state_run *run, const struct privilege_list *acl, struct err *err);
int acl_revert(struct state_run *run, const void *args, struct err *err);

#endif
