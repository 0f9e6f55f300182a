/*
 * textdiff - the difference between two texts as a unified diff.
 *
 *     --- /etc/motd
 *     +++ /etc/motd
 *     @@ -1,3 +1,3 @@
 *      kept
 *     -gone
 *     +new
 *      kept
 *
 * The difference is the smallest one if it is found within TEXTDIFF_COST_MAX steps. Where texts
 * differ more, the rest of that part is shown as replaced, so that time stays linear.
 *
 * Threads: any.
 */
#ifndef CORE_BASE_TEXTDIFF_H
#define CORE_BASE_TEXTDIFF_H

#include <stdbool.h>

#include "core/base/str.h"

struct buf;

#define TEXTDIFF_CONTEXT 3
/* Edits looked at in each half of a search before it gives up. */
#define TEXTDIFF_COST_MAX 1024

/* Append the diff; nothing when both are equal. `old_name` and `new_name` follow "--- " and "+++
 * ". */
void textdiff(struct str old, struct str now, const char *old_name, const char *new_name,
              struct buf *out);

/* Is the text binary: a NUL among its first bytes? Other tools decide it the same way. */
bool textdiff_is_binary(struct str text);

#endif
