/*
 * steady - template functions with repeatable results.
 *
 * Their results depend only on arguments, facts, settings and files of the tree. A plan made with
 * only these functions can be reused (states/compile/stamps.h); any other function counts as one
 * that inspects the machine.
 */
#ifndef STATES_COMPILE_STEADY_H
#define STATES_COMPILE_STEADY_H

#include <stdbool.h>

/* A global function, or one of `salt`. */
bool steady_has(const char *name);

#endif
