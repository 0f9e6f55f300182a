/*
 * lookup - finds states by any of their names.
 *
 * Each state is known by its full name, by family and ID ("pkg", "nginx"), by ID alone, by the same
 * three with the value of its `name`, and by its file. Each is one hash lookup; patterns scan all
 * states.
 *
 *     lookup_init -> lookup_add... -> lookup_index -> find
 *
 * Memory: the arena. Threads: one until all are indexed, then any number of readers.
 */
#ifndef STATES_COMPILE_LOOKUP_H
#define STATES_COMPILE_LOOKUP_H

#include <stdbool.h>

#include "core/base/map.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "states/compile/plan.h"

struct arena;

/* The names of one state. Texts are borrowed. */
struct lookup_names {
    const char *module; /* "pkg.installed" */
    const char *id;
    const char *alias; /* the ID of the declaration, when `names` gave the state another; or NULL */
    const char *name;  /* the value of its primary parameter; or NULL */
    const char *ref;
};

struct lookup {
    struct arena *arena;
    struct map table;
    VEC(struct lookup_names) states;
    size_t indexed;   /* of `states`, in `table` */
    struct map refs;  /* reference to the file's first reference (const char *) */
    struct map below; /* files by the first reference of their includers */
};

void lookup_init(struct lookup *lookup, struct arena *arena);
/* Add the next state; numbers count from 0. */
void lookup_add(struct lookup *lookup, const struct lookup_names *names);
/* Build the table; only needed for plans with requisites. May be repeated. Patterns and
 * suggestions do not need it. */
void lookup_index(struct lookup *lookup);
/* A file that is part of the run, under one of its references. */
void lookup_add_ref(struct lookup *lookup, const char *ref, const char *first);

/* The file `ref` came into the run by an include of `by`, or of one that `by` includes. */
void lookup_add_below(struct lookup *lookup, const char *by, const char *ref);

/* "module.function" and ID, or else name. */
struct plan_targets lookup_full(const struct lookup *lookup, struct str module, struct str id);
/* By a text that is a full name. */
struct plan_targets lookup_exact(const struct lookup *lookup, struct str text);
/* "module" and ID, or else name. */
struct plan_targets lookup_family(const struct lookup *lookup, struct str descendants,
                                  struct str id);
/* ID, or else name. */
struct plan_targets lookup_id(const struct lookup *lookup, struct str id);
/* All states of a file; false when it is not part of the run. */
bool lookup_ref(const struct lookup *lookup, struct str ref, struct plan_targets *ret);
/* Like Salt: states with this ID or name, of a family (a NULL view: any); a file stands for its
 * states and those it includes. */
struct plan_targets lookup_all(const struct lookup *lookup, struct arena *arena,
                               struct str descendants, struct str id);
bool lookup_ref_all(const struct lookup *lookup, struct arena *arena, struct str ref,
                    struct plan_targets *ret);
/* ID or name match the pattern; of this module or family, or of any when that is a NULL view. */
struct plan_targets lookup_glob(const struct lookup *lookup, struct arena *arena, struct str module,
                                struct str pattern);

/* The nearest full name; a NULL view when none is close. */
struct str lookup_suggest(const struct lookup *lookup, struct arena *arena, struct str text);
/* The nearest ID. */
struct str lookup_suggest_id(const struct lookup *lookup, struct str text);

#endif
