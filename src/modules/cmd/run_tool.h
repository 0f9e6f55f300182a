/*
 * run_tool - how a state runs the tools of the machine (provider/tool.h): killed when the run is
 * canceled, results in its arena.
 *
 * Threads: any.
 */
#ifndef MODULES_CMD_RUN_TOOL_H
#define MODULES_CMD_RUN_TOOL_H

#include "provider/tool.h"

struct state_run;

struct tool run_tool(const struct state_run *run);

#endif
