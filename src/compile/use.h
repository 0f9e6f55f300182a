/*
 * use - `use: [{file: base}]`: the arguments of another declaration, unless one's own
 * says otherwise. Requisites and names stay where they are.
 *
 * Chains are followed from their end; a circle is a mistake. Threads: one at a time.
 */
#ifndef COMPILE_USE_H
#define COMPILE_USE_H

struct arena;
struct decl_set;
struct diags;

/* Apply every `use` and `use_in` of the set. */
int use_apply(struct arena *arena, struct decl_set *set, struct diags *diags);

#endif
