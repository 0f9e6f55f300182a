/*
 * drawing - a dependency graph as a picture: boxes in columns, arrows between them.
 *
 *     drawing_add_box for each, in the order of their levels -> drawing_add_arrow... ->
 * drawing_print_*
 *
 * Memory: the arena given first. Names and labels are borrowed.
 */
#ifndef COMMANDS_CLI_SHARED_DRAWING_H
#define COMMANDS_CLI_SHARED_DRAWING_H

#include <stdint.h>

#include "core/base/vec.h"

struct arena;
struct buf;

struct drawing_box {
    const char *name;
    uint32_t level;   /* its column, from 0; never smaller than that of the box before */
    const char *look; /* a class of the style sheet in SVG; NULL: plain */
};

struct drawing_arrow {
    uint32_t first, then; /* indexes of boxes */
    const char *label;    /* of one word */
    const char *style;    /* of its line in SVG; NULL: plain */
};

struct drawing {
    struct arena *arena;
    VEC(struct drawing_box) boxes;
    VEC(struct drawing_arrow) arrows;
};

#define DRAWING_INIT(arena_)                                                                       \
    {                                                                                              \
        .arena = (arena_)                                                                          \
    }

void drawing_add_box(struct drawing *drawing, const char *name, uint32_t level);
/* The same with a look. */
void drawing_add_box_as(struct drawing *drawing, const char *name, uint32_t level,
                        const char *look);
void drawing_add_arrow(struct drawing *drawing, uint32_t first, uint32_t then, const char *label,
                       const char *style);

/* For graphviz. */
void drawing_print_dot(const struct drawing *drawing, struct buf *out);
/* An SVG image. */
void drawing_print_svg(const struct drawing *drawing, struct buf *out);
/* The same as a part of a page, which has drawing_defs once and the style sheet. */
void drawing_print_figure(const struct drawing *drawing, struct buf *out);
extern const char drawing_defs[];

#endif
