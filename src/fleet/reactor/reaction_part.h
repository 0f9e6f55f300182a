/*
 * reaction_part - splits a template with statements into its blocks.
 *
 *     struct reaction_part part = { .text = text };
 *     while (reaction_part_next(arena, &part, &block))
 *         check block, which has no statements, and its lines where they are in the file
 *
 * Statements around blocks are removed; blocks with a statement inside are skipped, since it is
 * unclear which of their lines belong together. So are templates with macros, raw text, comments
 * and anchors.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_REACTOR_REACTION_PART_H
#define FLEET_REACTOR_REACTION_PART_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;

struct reaction_part {
    struct str text;
    size_t at;    /* bytes read */
    size_t lines; /* and lines */
};

/* The next block, after as many empty lines as precede it. False: no more. */
bool reaction_part_next(struct arena *arena, struct reaction_part *part, struct str *ret_block);

#endif
