/*
 * yaml_error - YAML syntax errors, explained so that the author can fix them.
 *
 * libyaml knows the place but speaks of tokens and simple keys. Here its problem,
 * the characters at the place and the line around it become a message, with the source line, a hint
 * and a note on where the broken thing began.
 */
#ifndef CORE_DATA_YAML_ERROR_H
#define CORE_DATA_YAML_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"

struct diags;
struct yaml_parser_s;

/* The last scalar before the mistake, in characters from the beginning of the text. */
struct yaml_last {
    size_t start, end;
    bool quoted;
};

/* Adds one diagnostic for the failure in `parser`, unless its line has one already. */
void yaml_error_explain(const struct yaml_parser_s *parser, const char *file, struct str text,
                        const struct yaml_last *last, struct diags *diags);

/* When the map at byte `offset` (or the one whose first key is there) is an expression without
 * quotes (`{{ x }}`), add a diagnostic for it. False when it is not. */
bool yaml_error_explain_braces(const char *file, struct str text, size_t offset,
                               struct diags *diags);

#endif
