/*
 * unsupported - Salt states and functions that cannot exist here, with the reason for each: they
 * are refused by name, not as unknown.
 *
 * Threads: any.
 */
#ifndef STATES_COMPILE_UNSUPPORTED_H
#define STATES_COMPILE_UNSUPPORTED_H

#include "core/base/str.h"

/* Why the state or function is not supported; NULL: not a known Salt name. */
const char *unsupported_reason(struct str name);

#endif
