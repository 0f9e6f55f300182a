/*
 * reaction_part - the blocks of a template with statements, each as a text of its own.
 *
 *     struct reaction_part part = { .text = text };
 *     while (reaction_part_next(arena, &part, &block))
 *         check block, which has no statements, and its lines where they are in the file
 *
 * Statements that stand around blocks are left out; blocks with one inside are passed over, since
 * nobody knows which of their lines belong together. So are templates with macros, raw text,
 * comments and anchors.
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
    size_t at;    /* bytes that were read */
    size_t lines; /* and lines */
};

/* The next block, after as many empty lines as there are before it. False: there are no more. */
bool reaction_part_next(struct arena *arena, struct reaction_part *part, struct str *ret_block);

#endif
