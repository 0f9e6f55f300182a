#include "commands/cli/shared/drawing.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/utf8.h"
#include "core/data/html.h"

/* Layout, in pixels. */
#define BOX_HEIGHT  26
#define BOX_GAP     14
#define COLUMN_GAP  90
#define MARGIN      20
#define CHAR_WIDTH  7
#define NAME_SHOWN  240 /* characters */
#define BOX_PADDING 16

static const char sheet[] =
    "<style>text{font:12px monospace}.box{fill:#f4f6f8;stroke:#456}path{fill:none;stroke:#678}"
    "</style>\n";
const char drawing_defs[] =
    "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
    "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" style=\"fill:#678\"/></marker>"
    "</defs>\n";
static const char ground[] = "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";

void drawing_add_box(struct drawing *drawing, const char *name, uint32_t level)
{
    drawing_add_box_as(drawing, name, level, NULL);
}

void drawing_add_box_as(struct drawing *drawing, const char *name, uint32_t level, const char *look)
{
    VEC_PUSH_IN(drawing->arena, &drawing->boxes, ((struct drawing_box){ name, level, look }));
}

void drawing_add_arrow(struct drawing *drawing, uint32_t first, uint32_t then, const char *label,
                       const char *style)
{
    VEC_PUSH_IN(drawing->arena, &drawing->arrows,
                ((struct drawing_arrow){ first, then, label, style }));
}

/* --- graphviz ------------------------------------------------------------------------- */

static void print_html_quoted(struct buf *out, const char *text)
{
    buf_add_char(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_add_char(out, '\\');
        buf_add_char(out, *text == '\n' ? ' ' : *text);
    }
    buf_add_char(out, '"');
}

/* Boxes of one level are placed below each other. */
static void add_ranks(const struct drawing *drawing, struct buf *out)
{
    for (size_t i = 0; i < drawing->boxes.n; i++) {
        const struct drawing_box *box = &drawing->boxes.p[i];

        if (i == 0 || box->level != box[-1].level)
            buf_printf(out, "%s  { rank=same;", i > 0 ? " }\n" : "");
        buf_add_char(out, ' ');
        print_html_quoted(out, box->name);
        buf_add_char(out, ';');
    }
    if (drawing->boxes.n > 0)
        buf_add_text(out, " }\n");
}

void drawing_print_dot(const struct drawing *drawing, struct buf *out)
{
    buf_add_text(out, "digraph {\n  rankdir=LR;\n  node [shape=box];\n");
    add_ranks(drawing, out);
    VEC_EACH (&drawing->arrows, arrow) {
        buf_add_text(out, "  ");
        print_html_quoted(out, drawing->boxes.p[arrow->first].name);
        buf_add_text(out, " -> ");
        print_html_quoted(out, drawing->boxes.p[arrow->then].name);
        buf_printf(out, " [label=\"%s\"];\n", arrow->label);
    }
    buf_add_text(out, "}\n");
}

/* --- SVG ------------------------------------------------------------------------------ */

struct place_of_box {
    size_t x, y, width;
};

struct picture {
    const struct drawing *drawing;
    struct buf *out;
    struct place_of_box *places;
    size_t width, height;
};

static size_t name_width(const char *name)
{
    const size_t n = utf8_count(str_from(name));

    return (n < NAME_SHOWN ? n : NAME_SHOWN) * CHAR_WIDTH + BOX_PADDING;
}

static void place_boxes(struct picture *picture)
{
    const struct drawing *drawing = picture->drawing;
    size_t x = MARGIN, y = MARGIN, widest = 0;

    for (size_t i = 0; i < drawing->boxes.n; i++) {
        const struct drawing_box *box = &drawing->boxes.p[i];
        size_t width = name_width(box->name);

        if (i > 0 && box->level != box[-1].level) {
            x += widest + COLUMN_GAP;
            y = MARGIN;
            widest = 0;
        }
        picture->places[i] = (struct place_of_box){ x, y, width };
        widest = width > widest ? width : widest;
        if (y + BOX_HEIGHT > picture->height)
            picture->height = y + BOX_HEIGHT;
        y += BOX_HEIGHT + BOX_GAP;
    }
    picture->width = x + widest + MARGIN;
    picture->height += MARGIN;
}

static void add_box(const struct picture *picture, size_t i)
{
    const struct place_of_box *at = &picture->places[i];
    const char *look = picture->drawing->boxes.p[i].look;
    struct str name = str_from(picture->drawing->boxes.p[i].name);

    buf_printf(picture->out,
               "<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%d\" rx=\"4\" class=\"box%s%s\"/>"
               "<text x=\"%zu\" y=\"%zu\">",
               at->x, at->y, at->width, BOX_HEIGHT, look ? " " : "", look ? look : "",
               at->x + BOX_PADDING / 2, at->y + BOX_HEIGHT - 9);
    html_add(picture->out, str_slice(name, 0, utf8_offset(name, NAME_SHOWN)));
    buf_add_text(picture->out, "<title>");
    html_add(picture->out, name);
    buf_add_text(picture->out, "</title></text>\n");
}

static void add_arrow(const struct picture *picture, const struct drawing_arrow *arrow)
{
    const struct place_of_box *a = &picture->places[arrow->first];
    const struct place_of_box *b = &picture->places[arrow->then];
    size_t x1 = a->x + a->width, y1 = a->y + BOX_HEIGHT / 2, y2 = b->y + BOX_HEIGHT / 2;

    buf_printf(picture->out,
               "<path d=\"M%zu %zu C%zu %zu %zu %zu %zu %zu\" class=\"%s\" style=\"%s\" "
               "marker-end=\"url(#tip)\"><title>%s</title></path>\n",
               x1, y1, x1 + COLUMN_GAP / 2, y1, b->x - COLUMN_GAP / 2, y2, b->x, y2, arrow->label,
               arrow->style ? arrow->style : "", arrow->label);
}

static void print_html_content(const struct picture *picture)
{
    VEC_EACH (&picture->drawing->arrows, arrow)
        add_arrow(picture, arrow);
    for (size_t i = 0; i < picture->drawing->boxes.n; i++)
        add_box(picture, i);
    buf_add_text(picture->out, "</svg>\n");
}

static struct picture make_picture(const struct drawing *drawing, struct buf *out)
{
    struct picture picture = { .drawing = drawing, .out = out };

    picture.places = ARENA_ARRAY(drawing->arena, struct place_of_box, drawing->boxes.n);
    place_boxes(&picture);
    return picture;
}

void drawing_print_svg(const struct drawing *drawing, struct buf *out)
{
    const struct picture picture = make_picture(drawing, out);

    buf_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\">\n",
               picture.width, picture.height);
    buf_printf(out, "%s%s%s", sheet, drawing_defs, ground);
    print_html_content(&picture);
}

void drawing_print_figure(const struct drawing *drawing, struct buf *out)
{
    const struct picture picture = make_picture(drawing, out);

    buf_printf(out,
               "<svg class=\"graph\" role=\"img\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu "
               "%zu\">\n",
               picture.width, picture.height, picture.width, picture.height);
    print_html_content(&picture);
}
