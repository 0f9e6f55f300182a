/*
 * manual - the module manual, generated from the parameter tables.
 */
#ifndef STATES_STATE_MANUAL_H
#define STATES_STATE_MANUAL_H

#include "core/base/str.h"
#include "core/data/value.h"

struct buf;
struct module;

/* A function outside the module table, supplied by the caller of the engine. */
struct manual_function {
    const char *name, *signature, *summary; /* the signature as in language/jinja/function.h */
};

/* Print signature and summary. `name` is a function or a family; NULL: one line for each. False
 * when no name matches. */
bool manual_print_functions(const struct manual_function *list, const char *name, struct buf *out);

/* Every module with its summary, by family. */
void manual_print_index(struct buf *out);
/* One module, or a whole family ("file"). False when no name matches. */
bool manual_print(struct str name, struct buf *out);
/* The same as data. */
struct value manual_value(struct arena *arena, const struct module *module);
/* The whole reference as Markdown. */
void manual_print_markdown(struct buf *out);

#endif
