#include "cli/graph_print.h"

#include "base/buf.h"
#include "compile/plan.h"

/* Layout of the drawing, in pixels. */
#define BOX_HEIGHT  26
#define BOX_GAP     14
#define COLUMN_GAP  90
#define MARGIN      20
#define CHAR_WIDTH  7
#define NAME_SHOWN  48
#define BOX_PADDING 16

void graph_print_text(const struct plan *plan, struct buf *out)
{
    for (uint32_t level = 0; level < plan->level_count; level++) {
        buf_printf(out, "Level %u:\n", level);
        for (uint32_t i = plan->level_start[level]; i < plan->level_start[level + 1]; i++) {
            const struct plan_state *state = &plan->states[plan->order[i]];

            buf_printf(out, "  %s\n", state->name);
            for (unsigned kind = 0; kind < REQUISITES; kind++)
                for (size_t k = 0; k < state->requisites[kind].n; k++)
                    buf_printf(out, "      %s %s\n", requisite_name((enum requisite)kind),
                               plan->states[state->requisites[kind].p[k]].name);
        }
    }
}

static void add_quoted(struct buf *out, const char *text)
{
    buf_add_char(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_add_char(out, '\\');
        buf_add_char(out, *text == '\n' ? ' ' : *text);
    }
    buf_add_char(out, '"');
}

/* prereq points from what comes first, every other requisite to it. */
static void edge_ends(const struct plan *plan, uint32_t state, unsigned kind, uint32_t target,
                      const struct plan_state **first, const struct plan_state **then)
{
    bool reverse = kind == REQUISITE_PREREQ;

    *first = &plan->states[reverse ? state : target];
    *then = &plan->states[reverse ? target : state];
}

typedef void edge_fn(void *self, unsigned kind, const struct plan_state *first,
                     const struct plan_state *then);

static void each_edge(const struct plan *plan, edge_fn *fn, void *self)
{
    for (uint32_t i = 0; i < plan->count; i++)
        for (unsigned kind = 0; kind < REQUISITES; kind++)
            for (size_t k = 0; k < plan->states[i].requisites[kind].n; k++) {
                const struct plan_state *first, *then;

                edge_ends(plan, i, kind, plan->states[i].requisites[kind].p[k], &first, &then);
                fn(self, kind, first, then);
            }
}

static void add_dot_edge(void *self, unsigned kind, const struct plan_state *first,
                         const struct plan_state *then)
{
    struct buf *out = self;

    buf_add_text(out, "  ");
    add_quoted(out, first->name);
    buf_add_text(out, " -> ");
    add_quoted(out, then->name);
    buf_printf(out, " [label=\"%s\"];\n", requisite_name((enum requisite)kind));
}

void graph_print_dot(const struct plan *plan, struct buf *out)
{
    buf_add_text(out, "digraph states {\n  rankdir=LR;\n  node [shape=box];\n");
    for (uint32_t level = 0; level < plan->level_count; level++) {
        buf_add_text(out, "  { rank=same;");
        for (uint32_t i = plan->level_start[level]; i < plan->level_start[level + 1]; i++) {
            buf_add_char(out, ' ');
            add_quoted(out, plan->states[plan->order[i]].name);
            buf_add_char(out, ';');
        }
        buf_add_text(out, " }\n");
    }
    each_edge(plan, add_dot_edge, out);
    buf_add_text(out, "}\n");
}

/* --- drawing ------------------------------------------------------------------------- */

struct box {
    size_t x, y, width;
};

struct drawing {
    const struct plan *plan;
    struct buf *out;
    struct box *boxes; /* one for each state */
    size_t width, height;
};

static size_t name_width(const char *name)
{
    size_t n = str_from(name).n;

    return (n < NAME_SHOWN ? n : NAME_SHOWN) * CHAR_WIDTH + BOX_PADDING;
}

static void place_boxes(struct drawing *drawing)
{
    const struct plan *plan = drawing->plan;
    size_t x = MARGIN;

    for (uint32_t level = 0; level < plan->level_count; level++) {
        size_t y = MARGIN, widest = 0;

        for (uint32_t i = plan->level_start[level]; i < plan->level_start[level + 1]; i++) {
            struct box *box = &drawing->boxes[plan->order[i]];

            *box = (struct box){ x, y, name_width(plan->states[plan->order[i]].name) };
            widest = box->width > widest ? box->width : widest;
            y += BOX_HEIGHT + BOX_GAP;
        }
        drawing->height = y > drawing->height ? y : drawing->height;
        x += widest + COLUMN_GAP;
    }
    drawing->width = x;
    drawing->height += MARGIN;
}

static void add_xml(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        switch (text.p[i]) {
        case '<': buf_add_text(out, "&lt;"); break;
        case '>': buf_add_text(out, "&gt;"); break;
        case '&': buf_add_text(out, "&amp;"); break;
        case '"': buf_add_text(out, "&quot;"); break;
        default: buf_add_char(out, text.p[i]);
        }
}

static void add_box(struct drawing *drawing, uint32_t state)
{
    const struct box *box = &drawing->boxes[state];
    struct str name = str_from(drawing->plan->states[state].name);

    buf_printf(drawing->out,
               "<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%d\" rx=\"4\" class=\"box\"/>"
               "<text x=\"%zu\" y=\"%zu\">",
               box->x, box->y, box->width, BOX_HEIGHT, box->x + BOX_PADDING / 2,
               box->y + BOX_HEIGHT - 9);
    add_xml(drawing->out, str_slice(name, 0, NAME_SHOWN));
    buf_add_text(drawing->out, "<title>");
    add_xml(drawing->out, name);
    buf_add_text(drawing->out, "</title></text>\n");
}

static void add_arrow(void *self, unsigned kind, const struct plan_state *first,
                      const struct plan_state *then)
{
    struct drawing *drawing = self;
    const struct box *a = &drawing->boxes[first - drawing->plan->states];
    const struct box *b = &drawing->boxes[then - drawing->plan->states];
    size_t x1 = a->x + a->width, y1 = a->y + BOX_HEIGHT / 2, y2 = b->y + BOX_HEIGHT / 2;

    buf_printf(drawing->out,
               "<path d=\"M%zu %zu C%zu %zu %zu %zu %zu %zu\" class=\"%s\" "
               "marker-end=\"url(#tip)\"><title>%s</title></path>\n",
               x1, y1, x1 + COLUMN_GAP / 2, y1, b->x - COLUMN_GAP / 2, y2, b->x, y2,
               requisite_name((enum requisite)kind), requisite_name((enum requisite)kind));
}

void graph_print_svg(const struct plan *plan, struct buf *out)
{
    AUTO_FREE struct box *boxes = mem_zalloc(mem_product(plan->count + 1, sizeof(*boxes)));
    struct drawing drawing = { .plan = plan, .out = out, .boxes = boxes };

    place_boxes(&drawing);
    buf_printf(out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\">\n"
               "<style>text{font:12px monospace}.box{fill:#f4f6f8;stroke:#456}"
               "path{fill:none;stroke:#678}.watch,.watch_any{stroke:#06c}"
               ".onfail,.onfail_all{stroke:#c00}.onchanges{stroke:#080}"
               ".prereq{stroke-dasharray:4}</style>\n"
               "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
               "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">"
               "<path d=\"M0 0L8 4L0 8z\" style=\"fill:#678\"/></marker></defs>\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
               drawing.width, drawing.height);
    each_edge(plan, add_arrow, &drawing);
    for (uint32_t i = 0; i < plan->count; i++)
        add_box(&drawing, i);
    buf_add_text(out, "</svg>\n");
}
