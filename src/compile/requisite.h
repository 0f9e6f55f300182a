/*
 * requisite - how states wait for each other, from words to numbers.
 *
 * Every form that users write is rewritten to one of the kinds of
 * compile/plan.h: `listen` is watch, `onchanges_any` is onchanges, `x_in` is x from the
 * other side, `prereq` also makes its target require the state.
 *
 * A target is "module.function:id", a map {module: id}, or an ID alone:
 *
 *     pkg.installed:nginx     that state
 *     {pkg: nginx}            pkg.installed:nginx; when there is none, any pkg.* state
 *                             whose ID or name is nginx
 *     nginx                   every state with that ID, else with that name
 *     {sls: web.config}       every state of that file
 *     {pkg: nginx*}           every state whose ID or name matches
 *
 * Targets are found by hash (state/lookup.h). A target that is not there is a
 * mistake, told with the nearest name.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef COMPILE_REQUISITE_H
#define COMPILE_REQUISITE_H

#include <stdbool.h>

#include "compile/plan.h"

struct arena;
struct lookup;

/* A key under which requisites are written. */
struct requisite_form {
    const char *name;
    enum requisite kind;
    bool inverse;  /* the target gets it, on this state */
    bool use;      /* `use`: the target's arguments, no order */
    bool internal; /* the compiler adds it; nobody writes it */
    struct requisite_rule rule;
};

/* NULL when `key` is no requisite. */
const struct requisite_form *requisite_form_find(struct str key);
/* All of them; ends in a NULL name. */
extern const struct requisite_form requisite_forms[];

/* Requisites while they are collected: for each state and kind the numbers of its targets. */
struct requisite_set {
    VEC(uint32_t) targets[REQUISITES];
};

struct requisites {
    struct arena *arena;
    const struct lookup *lookup;
    const struct plan_state *states;
    struct requisite_set *sets; /* one for each state */
    size_t count;               /* of all targets so far */
    struct diags *diags;
};

/* More than this in one plan is a mistake. */
#define REQUISITES_MAX 20000000

/* Add what `value`, written under `form`, demands for a state. */
int requisite_read(struct requisites *requisites, uint32_t state, const struct requisite_form *form,
                   const struct value *value);

/* `state` demands `kind` of `target`. */
int requisite_add(struct requisites *requisites, uint32_t state, enum requisite kind,
                  uint32_t target);

/* All targets that one item names. Returns -1, and adds nothing to `diags`, when it names none;
 * `reterr_text` is then what was looked for ("cmd.run:Z"). */
int requisite_find(struct arena *arena, const struct lookup *lookup, const struct value *key,
                   struct str id, struct plan_targets *ret, const char **reterr_text);

/* Sort, drop what is said twice, tell of requisites that exclude each other, and put the result
 * into the states. */
int requisite_seal(struct requisites *requisites, struct plan_state *states, uint32_t count);

#endif
