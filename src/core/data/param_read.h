/*
 * param_read - one value into one field: a reader for each kind of parameter.
 *
 * Types and coercions of params; keys, aliases and defaults are in params.c. Coercing readers
 * accept every form in which YAML, a command line and the wire write a value: "yes", 1 and true are
 * one bool. Strict readers do not.
 *
 * Memory: fields point into the arena or the value.
 */
#ifndef CORE_DATA_PARAM_READ_H
#define CORE_DATA_PARAM_READ_H

#include <stdbool.h>

#include "core/base/str.h"

struct arena;
struct diags;
struct param;
struct value;
struct words_cursor;

struct param_reader {
    struct arena *arena;
    const struct param *param;
    struct str key;   /* as it was written: the name or an alias */
    const char *mark; /* a prefix in messages; or NULL */
    struct diags *diags;
    bool strict;
    bool no_source; /* the line of the value may not be shown */
    struct words_cursor *cursor;
};

/* Read `v` into the field of reader->param in `args`. Returns -1 with a diagnostic. */
int param_read(const struct param_reader *reader, const struct value *v, void *args);

#endif
