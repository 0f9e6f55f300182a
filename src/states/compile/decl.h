/*
 * decl - what state files declare: an ID, a module, and arguments.
 *
 * These forms of a body are equivalent:
 *
 *     nginx: {pkg.installed: [{refresh: true}]}     list of maps, of one key or several
 *     nginx: {pkg.installed: {refresh: true}}       map
 *     nginx: {pkg: [installed, {refresh: true}]}    module and function apart
 *     nginx: pkg.installed                          no arguments; also [] or empty
 *     nginx: [pkg.installed, service.running]       several modules without arguments
 *
 * The same ID and module in two files is one state: requisites and other arguments are merged, and
 * conflicting values are a mistake. `extend` may change values.
 *
 * Memory: the arena of the set. Threads: one at a time.
 */
#ifndef STATES_COMPILE_DECL_H
#define STATES_COMPILE_DECL_H

#include <stdbool.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/value.h"

struct dialect;
struct diags;
struct module;

struct decl {
    const char *name; /* "pkg.installed:nginx" */
    const char *id;
    const struct module *module;
    const char *ref;                /* the file that declared it first */
    const struct param_strs *files; /* all that declare it, by tree_ref */
    const struct dialect *dialect;  /* of that file */
    uint32_t sequence;              /* its position among all declarations, as written */
    struct value where;             /* the ID, with its place */
    struct value_map *args;         /* names to values, requisites included */
    const void *file;               /* the last file that declared it */
    bool excluded;
    bool broken; /* a mistake was reported; kept so that references to it are not reported too */
    const char *mistake; /* the mistake, if it only fails this state; NULL */
};

struct decl_ids {
    VEC(struct decl *) list;
};

struct decl_set {
    struct arena *arena;
    VEC(struct decl *) list; /* in the order of declaration */
    struct map names;        /* struct decl by full name */
    struct map ids;          /* struct decl_ids by ID */
    struct diags *late;      /* mistakes that only fail their state */
};

void decl_set_init(struct decl_set *set, struct arena *arena, struct diags *late);
/* About as many declarations follow. */
void decl_set_expect(struct decl_set *set, size_t more);

/* The declaring file: a unique pointer, and its reference. */
struct decl_file {
    const void *file;
    const char *ref;
    const struct param_strs *files; /* itself, by tree_ref; NULL: none */
    const struct dialect *dialect;
    bool extend; /* the body changes existing declarations */
};

/* Add the declarations in the body of an ID. */
int decl_read(struct decl_set *set, const struct decl_file *file, const struct value *id,
              const struct value *body, struct diags *diags);

/* Add a single state. */
int decl_add(struct decl_set *set, const struct decl_file *file, const struct value *id,
             const struct module *module, const struct value *args, struct diags *diags);

/* A scalar as the text of an ID or name; a NULL view for other values. */
struct str decl_text(struct arena *arena, const struct value *v);

/* The state module of this name; NULL after reporting a mistake. */
const struct module *decl_module(struct str name, const struct value *where, struct diags *diags);
/* Is it the stand-in for an unknown module? */
bool decl_is_broken(const struct module *module);

/* `Append `more` to `list`; either may be a single value, treated as a list of one. */
struct value decl_join(struct arena *arena, const struct value *list, const struct value *more);

#endif
