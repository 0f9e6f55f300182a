/*
 * requirement - does a version satisfy what a file asks for? Pure.
 *
 * Comparisons joined with commas, all of which must hold: ">=0.15, <0.20". There
 * are = > >= < <= ~ ^ and '*'; no sign means the very version, so far as it is
 * written: "0.15" is any 0.15.x. "~1.2" stays below 1.3, "^1.2" below 2.0, and
 * "^0.2" below 0.3.
 */
#ifndef KEPLER_CONFIG_REQUIREMENT_H
#define KEPLER_CONFIG_REQUIREMENT_H

#include <stdbool.h>

#include "core/base/str.h"

struct err;

/* Fails when `requirement` is none. `version` is ours: three numbers. */
int requirement_check(struct str requirement, struct str version, bool *ret_holds, struct err *err);

#endif
