/*
 * run_tool - runs programs of the system for a state (states/provider/tool.h): killed when the run
 * is canceled, results in its arena.
 *
 * Threads: any.
 */
#ifndef STATES_MODULES_CMD_RUN_TOOL_H
#define STATES_MODULES_CMD_RUN_TOOL_H

#include "states/provider/tool.h"

struct err;
struct state_run;
struct value;

struct tool run_tool(const struct state_run *run);

/* Returns the current state as a note. */
typedef int run_tool_look_fn(struct state_run *run, const void *args, struct value *ret,
                             struct err *err);
/* For apply, which has noted "before" and then run a program that ended with `rc` and `err`: note
 * "after", also if that has failed or was canceled, since it may have done a part of its work.
 * Returns `rc`, or -1 if only this has failed. */
int run_tool_note_after(struct state_run *run, const void *args, run_tool_look_fn *look, int rc,
                        struct err *err);

#endif
