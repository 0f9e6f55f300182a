/*
 * tail - splits a growing file into lines.
 *
 * An incomplete line waits for its rest. A line that is too long is cut to TAIL_LINE_MAX bytes.
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

/* `line` is without its newline. */
typedef int tail_fn(void *self, struct str line, struct err *err);

/* Fails as `fn` does, which is called for each line. */
int tail_feed(struct tail *tail, struct str bytes, tail_fn *fn, void *self, struct err *err);
/* Drops an incomplete line. */
void tail_clear(struct tail *tail);

#endif
