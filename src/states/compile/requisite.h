/*
 * requisite - resolves requisites, from names to numbers.
 *
 * Every form is rewritten to one of the kinds of states/compile/plan.h: `listen` is watch,
 * `onchanges_any` is onchanges, `x_in` is x from the other side, `prereq` also makes its target
 * require the state.
 *
 * A target is "module.function:id", a map {module: id}, or an ID alone:
 *
 *     pkg.installed:nginx     that state
 *     {pkg: nginx}            pkg.installed:nginx; when there is none, any pkg.* state
 *                             whose ID or name is nginx
 *     nginx                   every state with that ID, else with that name
 *     {sls: web.config}       every state of that file
 *     {pkg: nginx*}           every state whose ID or name matches
 *     {kepler: web/api healthy}   a service (states/compile/awaited.h)
 *     {pkg: nginx, optional: true}   the same as without, if it is part of the run
 *
 * Targets are found by hash (states/compile/lookup.h). An unknown target is a mistake, reported
 * with the nearest name.
 *
 * Memory: the arena. Threads: one at a time.
 */
#ifndef STATES_COMPILE_REQUISITE_H
#define STATES_COMPILE_REQUISITE_H

#include <stdbool.h>

#include "states/compile/plan.h"

struct arena;
struct lookup;

/* A key under which requisites are written. */
struct requisite_form {
    const char *name;
    enum requisite kind;
    bool inverse;  /* inverse: the target gets it, on this state */
    bool use;      /* `use`: the target's arguments, no order */
    bool internal; /* internal: added by the compiler */
    struct requisite_rule rule;
};

/* NULL when `key` is not a requisite. */
const struct requisite_form *requisite_form_find(struct str key);
/* All of them; ends in a NULL name. */
extern const struct requisite_form requisite_forms[];

/* Requisites while they are collected: for each state and kind the numbers of its targets. */
struct requisite_set {
    VEC(uint32_t) targets[REQUISITES];
    VEC(const char *) absent; /* as in struct plan_state */
    uint32_t heard;           /* the same */
    bool listens;
};

struct requisites {
    struct arena *arena;
    const struct lookup *lookup;
    const struct plan_state *states;
    struct requisite_set **sets; /* of each state; NULL: it has none yet */
    size_t count;                /* of all targets so far */
    uint32_t heard;              /* `listen` and `listen_in` so far */
    struct diags *diags;
};

/* Limit for one plan. */
#define REQUISITES_MAX 20000000

/* Add the requisites in `value`, written under `form`, of a state. */
int requisite_read(struct requisites *requisites, uint32_t state, const struct requisite_form *form,
                   const struct value *value);

/* `state` has a requisite `kind` on `target`. */
int requisite_add(struct requisites *requisites, uint32_t state, enum requisite kind,
                  uint32_t target);

/* One item: `key` is NULL for a plain text. */
struct requisite_item {
    const struct value *key; /* "file", "sls" */
    struct str id;
    bool salt; /* every state with the ID or name; files with their includes */
};

/* All targets that one item names. Returns -1, and adds nothing to `diags`, when there are
 * none; `reterr_text` is then the name that was not found ("cmd.run:Z"). */
int requisite_find(struct arena *arena, const struct lookup *lookup,
                   const struct requisite_item *item, struct plan_targets *ret,
                   const char **reterr_text);

/* Sort, drop duplicates, report contradicting requisites, and store the result in the states. */
int requisite_seal(struct requisites *requisites, struct plan_state *states, uint32_t count);

#endif
