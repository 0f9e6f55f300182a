/*
 * unsupported - states and functions of Salt that cannot exist here, each with the reason: they are
 * refused by name, never as unknown.
 *
 * Threads: any.
 */
#ifndef STATES_COMPILE_UNSUPPORTED_H
#define STATES_COMPILE_UNSUPPORTED_H

#include "core/base/str.h"

/* Why there is no such state or function; NULL: it is not a name of Salt that we know. */
const char *unsupported_reason(struct str name);

#endif
