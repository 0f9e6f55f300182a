/*
 * graph_print - a plan as a drawing.
 */
#ifndef COMMANDS_CLI_SHARED_GRAPH_PRINT_H
#define COMMANDS_CLI_SHARED_GRAPH_PRINT_H

struct drawing;
struct plan;

/* A column for each level, an arrow for each requisite, starting at the state that runs first. */
void graph_print(const struct plan *plan, struct drawing *drawing);

#endif
