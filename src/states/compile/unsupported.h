/*
 * unsupported - Salt states and functions that cannot exist here, with the reason for each: they
 * are refused by name, not as unknown. The same for names of other tools, with what to use.
 *
 * Threads: any.
 */
#ifndef STATES_COMPILE_UNSUPPORTED_H
#define STATES_COMPILE_UNSUPPORTED_H

#include "core/base/str.h"

struct module;

/* Why the state or function is not supported, or what to use; NULL: not a known name. */
const char *unsupported_reason(struct str name);
/* Our family for one of another tool: pkg for apt, service for systemctl; NULL: none. */
const char *unsupported_family(struct str family);
/* Our module for one of another tool: pkg.installed for package.installed; NULL: none. */
const struct module *unsupported_twin(struct str name);

#endif
