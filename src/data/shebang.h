/*
 * shebang - Salt's first line of a file, which names what it is read by: "#!jinja|yaml".
 *
 * Without that line a file is a template, then YAML; "#!yaml" is YAML alone. Other
 * readers are told, not passed over.
 *
 * Threads: any.
 */
#ifndef DATA_SHEBANG_H
#define DATA_SHEBANG_H

#include <stdbool.h>

#include "base/str.h"

struct diags;

/* Is the text of this file a template? Returns -1 after telling which reader there is not. */
int shebang_read(const char *file, struct str text, bool *ret_template, struct diags *diags);

#endif
