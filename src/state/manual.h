/*
 * manual - what people read about modules, from their tables.
 */
#ifndef STATE_MANUAL_H
#define STATE_MANUAL_H

#include "base/str.h"
#include "data/value.h"

struct buf;
struct module;

/* Every module with its one line, by family. */
void manual_print_index(struct buf *out);
/* A module, or all of a family ("file"). False when there is none of that name. */
bool manual_print(struct str name, struct buf *out);
/* The same for machines. */
struct value manual_value(struct arena *arena, const struct module *module);
/* The whole reference as Markdown. */
void manual_print_markdown(struct buf *out);

#endif
