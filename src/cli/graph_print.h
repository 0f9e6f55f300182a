/*
 * graph_print - prints a plan: levels as text, or a drawing.
 */
#ifndef CLI_GRAPH_PRINT_H
#define CLI_GRAPH_PRINT_H

struct buf;
struct drawing;
struct plan;

/* "Level 0: [a, b]", with the requisites of each state. */
void graph_print_text(const struct plan *plan, struct buf *out);
/* A column for each level, an arrow for each requisite, starting at the state that runs first. */
void graph_draw(const struct plan *plan, struct drawing *drawing);

#endif
