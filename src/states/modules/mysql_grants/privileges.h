/*
 * privileges - what a MySQL account may do with one object, as a set, and SQL from sets.
 *
 *     select, insert (a, b)      what a state says
 *     GRANT SELECT, INSERT (`a`, `b`) ON `db`.`t` TO `u`@`h` WITH GRANT OPTION
 *
 * Words are in capitals; a privilege for columns is one for each. ALL is "ALL PRIVILEGES", and the
 * right to pass privileges on is the privilege "GRANT OPTION".
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_MODULES_MYSQL_GRANTS_PRIVILEGES_H
#define STATES_MODULES_MYSQL_GRANTS_PRIVILEGES_H

#include <stdbool.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct buf;
struct err;

struct privilege {
    struct str word, column; /* an empty column: the whole object */
};
struct privileges {
    VEC(struct privilege) list;
};

/* Comma-separated words; ERR_INVALID for anything but a privilege. */
int privileges_parse(struct arena *arena, struct str text, struct privileges *set, struct err *err);
void privileges_add(struct arena *arena, struct privileges *set, struct privilege one);
/* Add what a line of SHOW GRANTS gives for this object, if it is about it. */
int privileges_add_grant(struct arena *arena, struct str line, struct str object,
                         struct privileges *set, struct err *err);

/* Is all that `one` allows in the set? */
bool privileges_cover(const struct privileges *set, const struct privilege *one);
/* Those of `a` that `b` does not cover. */
struct privileges privileges_minus(struct arena *arena, const struct privileges *a,
                                   const struct privileges *b);

/* "SELECT, INSERT (`a`)"; "USAGE" for none. Without GRANT OPTION, unless `option`. */
void privileges_print(const struct privileges *set, bool option, struct buf *out);

/* The same for messages, all of it. */
const char *privileges_text(struct arena *arena, const struct privileges *set);

/* `db`.* for "db.*". `escape`: '_' and '%' in the name of a database are not wildcards.
 * `fallback` is the database of a lone "*"; NULL: that is an error. */
int privileges_object(struct arena *arena, struct str level, bool escape, const char *fallback,
                      struct str *ret, struct err *err);

#endif
