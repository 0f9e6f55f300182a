/*
 * tail - pieces of a file that grows, as whole lines.
 *
 * A line that is not ended yet waits for its rest. Of a line that is too long the first
 * TAIL_LINE_MAX bytes count, and the rest up to its end is passed over.
 *
 * Pure. Memory: tail_clear frees. Threads: one.
 */
#ifndef FLEET_BEACONS_TAIL_H
#define FLEET_BEACONS_TAIL_H

#include <stdbool.h>

#include "core/base/str.h"

struct err;

#define TAIL_LINE_MAX ((size_t)4096)

struct tail {
    char *part; /* of the last line; NULL: none */
    size_t n;
};

/* `line` has no end of line. */
typedef int tail_fn(void *self, struct str line, struct err *err);

/* Fails as `fn` does, which is called for each line. */
int tail_feed(struct tail *tail, struct str bytes, tail_fn *fn, void *self, struct err *err);
/* Forget the part of a line that waits. */
void tail_clear(struct tail *tail);

#endif
