/*
 * graph_print - a plan as people look at it: levels as text, or a drawing.
 */
#ifndef CLI_GRAPH_PRINT_H
#define CLI_GRAPH_PRINT_H

struct buf;
struct plan;

/* "Level 0: [a, b]", with what each state waits for. */
void graph_print_text(const struct plan *plan, struct buf *out);
/* For graphviz. */
void graph_print_dot(const struct plan *plan, struct buf *out);
/* A drawing that any browser shows: a column for each level, arrows for requisites. */
void graph_print_svg(const struct plan *plan, struct buf *out);

#endif
