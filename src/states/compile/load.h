/*
 * load - from references to declarations: find, render, parse, include.
 *
 *     load_init -> { load_ref | load_match }... -> load_finish
 *
 * A file is loaded once, however often it is included. An include cycle is a mistake, except
 * between Salt files; a diamond is fine. `extend` and `exclude` of all files are applied at the
 * end, when everything is loaded.
 *
 * Places in messages refer to the source file, even for mistakes in rendered text
 * (language/jinja/relocate.h).
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef STATES_COMPILE_LOAD_H
#define STATES_COMPILE_LOAD_H

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/data/value.h"
#include "states/compile/decl.h"
#include "states/compile/plan.h"
#include "states/compile/tree.h"

struct arena;
struct buf;
struct dialect;
struct diags;
struct renderer;
struct state_host;

/* Limits: the rendered size of one file, and the depth of includes. */
#define LOAD_RENDERED_MAX ((size_t)64 << 20)
#define LOAD_DEPTH_MAX    100

/* One entry of an `extend`. */
struct load_extend {
    const struct load_file *file;
    const struct value *id, *body;
};

struct load_exclude {
    const struct load_file *file;
    const struct value *item;
};

struct load {
    struct arena *arena;
    struct state_host *host;
    struct renderer *renderer;
    struct diags *diags;
    struct decl_set decls;
    struct map files; /* struct load_file by path */
    struct map refs;  /* struct load_file by every reference to it */
    VEC(struct load_extend) extends;
    VEC(struct load_exclude) excludes;
    struct plan_marked marked;           /* files with !secret */
    uint32_t numbered;                   /* declarations that are already numbered */
    bool broken;                         /* a file is missing or cannot be read */
    VEC(const struct load_file *) stack; /* the current chain of includes */
};

/* A file of the run. */
struct load_file {
    const char *ref; /* its first reference */
    const char *path;
    struct param_strs files; /* itself, by tree_ref */
    const struct dialect *dialect;
    bool is_init;                     /* it is an init file */
    const struct load_file *includer; /* that brought it into the run; NULL: none did */
};

/* `late` gets the mistakes that only fail their state. */
void load_init(struct load *load, struct arena *arena, struct state_host *host,
               struct renderer *renderer, struct diags *late, struct diags *diags);

/* Load a file and its includes. `where` is the place of the reference, or NULL. */
int load_ref(struct load *load, struct str ref, const struct value *where);

/* Load a text as if it were a Salt file of this name at the root of the tree. */
int load_text(struct load *load, const char *name, struct str text);

/* The references that match a pattern ("web.*"); a plain one matches itself. No match is a
 * mistake. */
int load_match(struct load *load, struct str ref, const struct value *where,
               struct tree_names *ret_refs);

/* Read, render and parse one file of the tree; null when it is empty. */
int load_document(struct load *load, const char *ref, const char *path, struct value *ret);

/* Leave out what this value says, in the form of an `exclude`. */
void load_exclude(struct load *load, const struct value *v);

/* Apply extends and excludes. */
int load_finish(struct load *load);

#endif
