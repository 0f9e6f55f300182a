/*
 * release - versions of Python packages, as PEP 440 reads them: 2.0 is 2.0.0 and v2, 1.0-1 is
 * 1.0.post1, 1.0alpha is 1.0a0. Text that is no such version is equal to itself only.
 *
 * Threads: any.
 */
#ifndef MODULES_PIP_RELEASE_H
#define MODULES_PIP_RELEASE_H

#include <stdbool.h>

#include "base/str.h"

/* Does `have` satisfy "==wanted"? What follows a '+' counts only when it is wanted. */
bool release_matches(struct str have, struct str wanted);

#endif
