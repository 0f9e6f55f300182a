/*
 * awaited - services that requisites name: `require: [{kepler: web/api healthy 30s}]`.
 *
 * Such a target is not a declared state. A state kepler.condition with the same words is added for
 * it, which looks at the service when its turn comes; requisites find it as they find any other
 * state. It runs after the states that manage services, and after what else its dependents require
 * (states/compile/implied.h).
 *
 * `kepler: ID` of a declared state means that state, whatever it is called.
 *
 * Memory: the arena of the set. Threads: one at a time.
 */
#ifndef STATES_COMPILE_AWAITED_H
#define STATES_COMPILE_AWAITED_H

struct decl_set;
struct diags;

/* The key of such requisites, and the states that are added. */
#define AWAITED_FAMILY "kepler"
#define AWAITED_MODULE AWAITED_FAMILY ".condition"

/* Add a state for each service that a requisite of the set names. A requisite that waits for a
 * change, or is written from the other side, is reported: a service has no changes, and no
 * requisites. */
void awaited_add(struct decl_set *set, struct diags *diags);

#endif
