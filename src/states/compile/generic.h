/*
 * generic - the attributes that every state has, whatever its module:
 *
 *     onlyif, unless   commands that decide whether it may run
 *     check_cmd        commands that must succeed after it was applied
 *     creates          paths; when all are there, nothing has to be done
 *     order            its place in a level: a number, first or last
 *     retry            how often it is tried again: N or {attempts: N, interval: S}
 *     failhard         its failure ends the run
 *     runas            whose commands onlyif, unless and check_cmd are
 *
 * A parameter of the module with the same name takes precedence.
 *
 * Threads: any.
 */
#ifndef STATES_COMPILE_GENERIC_H
#define STATES_COMPILE_GENERIC_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct diags;
struct module;
struct plan_state;
struct suggest;
struct value_map;

/* Split the arguments of a state: attributes go to `state`, the rest for the module to
 * `ret_body`. Requisites and `names` are skipped. Attributes of Salt that have no effect are
 * mistakes in .zy files and go to `warnings` for .sls files. */
int generic_read(struct arena *arena, const struct value_map *args, struct plan_state *state,
                 struct value_map *ret_body, struct diags *warnings, struct diags *diags);

/* Is the key an attribute or a requisite, rather than an argument of the module? */
bool generic_has(struct str key);
/* Offer all of them as suggestions. */
void generic_offer(struct suggest *suggest);

#endif
