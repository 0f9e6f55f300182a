/*
 * prelude - a state with `prereq` comes after what its target waits for.
 *
 * It asks whether its target would change. Before that is in place which the target
 * requires (an account, a package, a folder), the answer would be about another
 * machine. So the state requires it too, except what itself waits for the state.
 *
 * Call after all requisites are read and before they are sealed. Threads: one.
 */
#ifndef COMPILE_PRELUDE_H
#define COMPILE_PRELUDE_H

#include <stdint.h>

struct requisites;

/* Returns -1 when there were too many requisites, which is told. */
int prelude_order(struct requisites *requisites, uint32_t count);

#endif
