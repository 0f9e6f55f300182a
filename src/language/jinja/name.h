/*
 * name - identifiers, each stored once for an environment.
 *
 * Two identifiers are the same when their pointers are. A name also remembers
 * what the running rendering found under it in its context, so that the hash
 * table is searched once per rendering and not once per use.
 *
 * Memory: the arena of the environment. Threads: as the environment.
 */
#ifndef LANGUAGE_JINJA_NAME_H
#define LANGUAGE_JINJA_NAME_H

#include "core/base/map.h"
#include "core/data/value.h"

struct builtins;
struct function;

/* Names that mean something in a loop, macro or block without being assigned. */
enum name_special {
    NAME_LOOP = 1,
    NAME_SELF = 2,
    NAME_SUPER = 4,
    NAME_CALLER = 8,
    NAME_KWARGS = 16,
    NAME_VARARGS = 32,
};

struct name {
    struct str text; /* ends in NUL */
    const struct builtins *builtins;
    const struct function *methods[VALUE_KINDS]; /* of that name */
    uint8_t special;                             /* a name_special, or 0 */
    uint64_t serial;                             /* the rendering that `found` belongs to */
    struct value found;                          /* absent: looked for and not there */
    struct value global;                         /* of the host or built in; absent: none */
    bool global_known;
};

struct name_table {
    struct arena *arena;
    const struct builtins *builtins; /* may be NULL */
    struct map map;
};

void names_init(struct name_table *names, struct arena *arena, const struct builtins *builtins);
/* The name with this text, created when it is new. */
struct name *names_get(struct name_table *names, struct str text);
/* The method of that name, or NULL: builtins_method without the search. */
const struct function *name_method(const struct name *name, const struct value *v);

#endif
