/*
 * requirement - checks a version against a version requirement. Pure.
 *
 * Comparisons joined with commas, all of which must hold: ">=0.15, <0.20". Operators are = > >= <
 * <= ~ ^ and '*'; without one, the parts given must be equal: "0.15" is any 0.15.x. "~1.2" stays
 * below 1.3, "^1.2" below 2.0, and "^0.2" below 0.3.
 */
#ifndef KEPLER_CONFIG_REQUIREMENT_H
#define KEPLER_CONFIG_REQUIREMENT_H

#include <stdbool.h>

#include "core/base/str.h"

struct err;

/* Fails for an invalid `requirement`. `version` is ours: three numbers. */
int requirement_check(struct str requirement, struct str version, bool *ret_holds, struct err *err);

#endif
