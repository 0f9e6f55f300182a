/*
 * run_tool - runs programs of the system for a state (provider/tool.h): killed when the run is
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
