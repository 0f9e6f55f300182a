/*
 * steady - the functions of templates that give the same result again.
 *
 * What they say depends on their arguments, on facts and settings, and on files of the tree alone.
 * A plan that was made with these functions only can be used again (states/compile/stamps.h); every
 * function that is not in the table is taken for one that looks at the machine.
 */
#ifndef STATES_COMPILE_STEADY_H
#define STATES_COMPILE_STEADY_H

#include <stdbool.h>

/* A global function, or one of `salt`. */
bool steady_has(const char *name);

#endif
