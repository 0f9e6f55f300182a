/*
 * agent - functions that only an agent has: schedule and beacons.
 *
 * The only list of their names; the agent has a handler for each (fleet/peel/schedule_admin.h).
 *
 * Threads: any.
 */
#ifndef STATES_LOCAL_AGENT_H
#define STATES_LOCAL_AGENT_H

struct buf;
struct suggest;

struct agent_function {
    const char *name, *summary;
};

/* Sorted by name; terminated by a row without a name. */
extern const struct agent_function agent_functions[];

/* NULL: not an agent function. */
const struct agent_function *agent_function_find(const char *name);
/* For "did you mean". */
void agent_function_offer(struct suggest *near);
/* Each after a blank. */
void agent_function_add_names(struct buf *out);

#endif
