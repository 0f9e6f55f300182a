/*
 * relocate - places in rendered text become places in the files that people edit.
 *
 * YAML is read from what a template wrote; its lines are not those of the file. The
 * trace of the rendering (language/jinja/trace.h) maps them back: values and diagnostics get the
 * file, line and column of the template text, or of the expression, that they came
 * from, and the source line of that file.
 *
 * Memory: the arena.
 */
#ifndef LANGUAGE_JINJA_RELOCATE_H
#define LANGUAGE_JINJA_RELOCATE_H

#include "core/base/str.h"

struct arena;
struct diags;
struct trace;
struct value;

/* Change the places of a tree that was just read from `rendered`, and of the diagnostics from
 * number `first` on. */
void relocate(struct arena *arena, struct str rendered, const struct trace *trace,
              struct value *tree, struct diags *diags, size_t first);

#endif
