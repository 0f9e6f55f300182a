/*
 * release - versions of Python packages, as defined by PEP 440: 2.0 is 2.0.0 and v2, 1.0-1 is
 * 1.0.post1, 1.0alpha is 1.0a0. Text that is not a valid version is equal only to itself.
 *
 * Threads: any.
 */
#ifndef STATES_MODULES_PIP_RELEASE_H
#define STATES_MODULES_PIP_RELEASE_H

#include <stdbool.h>

#include "core/base/str.h"

/* Does `have` satisfy "==wanted"? The local part, after a '+', counts only if it is wanted. */
bool release_matches(struct str have, struct str wanted);

#endif
