/*
 * report_machine - the states of a machine, as they were stored or sent, for a page.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef COMMANDS_CLI_SHARED_REPORT_MACHINE_H
#define COMMANDS_CLI_SHARED_REPORT_MACHINE_H

#include <stddef.h>

struct arena;
struct lastrun_states;
struct report_machine;
struct report_state;
struct value;

/* The states of a run as its machine stored them. */
void report_machine_add_stored(struct arena *arena, const struct lastrun_states *states,
                               struct report_machine *machine);

/* Places of other states into the state; what is not a place of one of `count` states is ignored.
 */
void report_machine_read_needs(struct arena *arena, const struct value *needs, size_t count,
                               struct report_state *state);

#endif
