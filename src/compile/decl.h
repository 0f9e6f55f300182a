/*
 * decl - what state files declare: an ID, a module, and arguments.
 *
 * A body may be written in these forms, all of which mean the same:
 *
 *     nginx: {pkg.installed: [{refresh: true}]}     list of maps, of one key or several
 *     nginx: {pkg.installed: {refresh: true}}       map
 *     nginx: {pkg: [installed, {refresh: true}]}    module and function apart
 *     nginx: pkg.installed                          no arguments; also [] or nothing
 *     nginx: [pkg.installed, service.running]       several modules without arguments
 *
 * One ID and module declared by two files is one state: requisites add up, other
 * arguments are joined, and a value that differs is a mistake. `extend` may change
 * values.
 *
 * Memory: the arena of the set. Threads: one at a time.
 */
#ifndef COMPILE_DECL_H
#define COMPILE_DECL_H

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "data/value.h"

struct dialect;
struct diags;
struct module;

struct decl {
    const char *name; /* "pkg.installed:nginx" */
    const char *id;
    const struct module *module;
    const char *ref;               /* the file that declared it first */
    const struct dialect *dialect; /* of that file */
    uint32_t sequence;             /* its place among all declarations, as they are written */
    struct value where;            /* the ID, with its place */
    struct value_map *args;        /* names to values, requisites included */
    const void *file;              /* the newest file that declared it */
    bool excluded;
    bool broken; /* a mistake was told; kept so that those who name it are not told off too */
    const char *mistake; /* which one, when only this state fails by it; NULL */
};

struct decl_ids {
    VEC(struct decl *) list;
};

struct decl_set {
    struct arena *arena;
    VEC(struct decl *) list; /* in the order of declaration */
    struct map names;        /* struct decl by full name */
    struct map ids;          /* struct decl_ids by ID */
    struct diags *late;      /* mistakes by which only their state fails */
};

void decl_set_init(struct decl_set *set, struct arena *arena, struct diags *late);

/* Who declares: a file, by any pointer that is its own, and its reference. */
struct decl_file {
    const void *file;
    const char *ref;
    const struct dialect *dialect;
    bool extend; /* the body changes what is there */
};

/* Add what the body of an ID declares. */
int decl_read(struct decl_set *set, const struct decl_file *file, const struct value *id,
              const struct value *body, struct diags *diags);

/* Add one state by hand. */
int decl_add(struct decl_set *set, const struct decl_file *file, const struct value *id,
             const struct module *module, const struct value *args, struct diags *diags);

/* A scalar as the text of an ID or a name; a NULL view when it is none. */
struct str decl_text(struct arena *arena, const struct value *v);

/* The module of this name that can be a state; NULL after telling what is wrong. */
const struct module *decl_module(struct str name, const struct value *where, struct diags *diags);
/* Is it the stand-in for a module that is not known? */
bool decl_is_broken(const struct module *module);

/* `more` behind `list`; either may be a single value that stands for a list of itself. */
struct value decl_join(struct arena *arena, const struct value *list, const struct value *more);

#endif
