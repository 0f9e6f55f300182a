/*
 * shebang - Salt's first line of a file, which names its renderers: "#!jinja|yaml".
 *
 * Without that line a file is a template, then YAML; "#!yaml" is YAML alone. Other
 * renderers are an error, not ignored.
 *
 * Threads: any.
 */
#ifndef CORE_DATA_SHEBANG_H
#define CORE_DATA_SHEBANG_H

#include <stdbool.h>

#include "core/base/str.h"

struct diags;

/* Is the text of this file a template? Returns -1 after reporting an unknown renderer. */
int shebang_read(const char *file, struct str text, bool *ret_template, struct diags *diags);

#endif
