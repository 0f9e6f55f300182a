/*
 * name - identifiers, each stored once for an environment.
 *
 * Two identifiers are the same when their pointers are. A name also caches its value in the context
 * of the running rendering, so that the hash table is searched once per rendering and not once per
 * use.
 *
 * Memory: the arena of the environment. Threads: as the environment.
 */
#ifndef LANGUAGE_JINJA_NAME_H
#define LANGUAGE_JINJA_NAME_H

#include "core/base/map.h"
#include "core/data/value.h"

struct builtins;
struct function;

/* Names with a meaning in a loop, macro or block without being assigned. */
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
    const struct function *methods[VALUE_KINDS]; /* methods of that name */
    uint8_t special;                             /* a name_special, or 0 */
    uint64_t serial;                             /* the rendering of `found` */
    struct value found;                          /* absent: looked up and not found */
    struct value global;                         /* value from the host or built in; absent: none */
    bool global_known;
};

struct name_table {
    struct arena *arena;
    const struct builtins *builtins; /* may be NULL */
    struct map map;
};

void names_init(struct name_table *names, struct arena *arena, const struct builtins *builtins);
/* The name with this text, created if new. */
struct name *names_get(struct name_table *names, struct str text);
/* The method of that name, or NULL: builtins_method with a cache. */
const struct function *name_method(const struct name *name, const struct value *v);

#endif
