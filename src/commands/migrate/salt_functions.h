/*
 * salt_functions - the states and functions that a file of Salt names, and that are not here.
 *
 * Found in the text, since a template cannot be rendered without its machine: states in the body of
 * an ID, functions in salt['...'], of module.run, and in 'fun:' of a guard.
 *
 * Pure. Memory: that of the remarks. Threads: one.
 */
#ifndef COMMANDS_MIGRATE_SALT_FUNCTIONS_H
#define COMMANDS_MIGRATE_SALT_FUNCTIONS_H

#include <stdbool.h>

#include "core/base/str.h"

struct diags;

/* A remark for each that is missing, with its place and what to use instead. `has_states`: it is a
 * file of states; others only call functions. Returns false when there is one. */
bool salt_functions_check(const char *name, struct str text, bool has_states,
                          struct diags *remarks);

#endif
