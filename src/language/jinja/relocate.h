/*
 * relocate - turns places in rendered text into places in source files.
 *
 * YAML is read from the output of a template; its lines are not those of the file. The trace of the
 * rendering (language/jinja/trace.h) maps them back: values and diagnostics get the file, line and
 * column of their template text or expression, and its source line.
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

/* Correct the places of a tree that was just read from `rendered`, and of the diagnostics from
 * number `first` on. */
void relocate(struct arena *arena, struct str rendered, const struct trace *trace,
              struct value *tree, struct diags *diags, size_t first);

#endif
