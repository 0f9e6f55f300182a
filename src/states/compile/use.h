/*
 * use - `use: [{file: base}]`: takes over the arguments of another declaration, unless they are
 * given. Requisites and names are not taken over.
 *
 * Chains are followed from their end; a cycle is a mistake. Threads: one at a time.
 */
#ifndef STATES_COMPILE_USE_H
#define STATES_COMPILE_USE_H

struct arena;
struct decl_set;
struct diags;

/* Apply every `use` and `use_in` of the set. */
int use_apply(struct arena *arena, struct decl_set *set, struct diags *diags);

#endif
