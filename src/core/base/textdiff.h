/*
 * textdiff - how one text became another, as a unified diff.
 *
 *     --- /etc/motd
 *     +++ /etc/motd
 *     @@ -1,3 +1,3 @@
 *      kept
 *     -gone
 *     +new
 *      kept
 *
 * The difference is the smallest there is as long as it is found within
 * TEXTDIFF_COST_MAX steps; where texts differ more than that, the rest of the
 * part in question is shown as replaced, so that time stays linear.
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

/* A NUL among the first bytes, as other tools decide it. */
bool textdiff_is_binary(struct str text);

#endif
