/*
 * manual - what people read about modules, from their tables.
 */
#ifndef STATES_STATE_MANUAL_H
#define STATES_STATE_MANUAL_H

#include "core/base/str.h"
#include "core/data/value.h"

struct buf;
struct module;

/* A function that is not a module: what the caller of the engine has besides. */
struct manual_function {
    const char *name, *signature, *summary; /* the signature as in language/jinja/function.h */
};

/* What each does, and its signature. `name` is a function or a family; NULL: a line for each. False
 * when there is none of that name. */
bool manual_print_functions(const struct manual_function *list, const char *name, struct buf *out);

/* Every module with its one line, by family. */
void manual_print_index(struct buf *out);
/* A module, or all of a family ("file"). False when there is none of that name. */
bool manual_print(struct str name, struct buf *out);
/* The same for machines. */
struct value manual_value(struct arena *arena, const struct module *module);
/* The whole reference as Markdown. */
void manual_print_markdown(struct buf *out);

#endif
