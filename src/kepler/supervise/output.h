/*
 * output - values that a process hands to others by writing them.
 *
 * A line of standard output that begins with "::output::" and goes on KEY=VALUE
 * sets KEY; the first '=' splits, the last line for a key wins, an empty key is
 * dropped. Such lines are taken out of the stream; all others pass unchanged,
 * bytes, partial lines and all. Keys and values together are bounded: what goes past
 * the limit is dropped, and `dropped` says so.
 *
 *     output_init -> output_feed... -> output_end -> output_values -> output_done
 *
 * Pure. Memory: owns its buffers. Threads: one at a time.
 */
#ifndef KEPLER_SUPERVISE_OUTPUT_H
#define KEPLER_SUPERVISE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/str.h"

struct value;
struct value_map;

#define OUTPUT_MARKER "::output::"
/* A marked line may not be longer; the rest of it is lost. */
#define OUTPUT_LINE_MAX ((size_t)1 << 20)

struct output_capture {
    struct arena arena;
    struct value_map *values;
    size_t size, max; /* of all keys and values */
    struct buf line;  /* the beginning of a line that may be marked */
    bool passing;     /* in the middle of a line that is not */
    bool dropped;     /* something was too large */
    uint32_t broken;  /* marked lines without '=' */
};

/* Where lines go that are not ours. */
typedef void output_fn(void *self, struct str bytes);

void output_init(struct output_capture *output, size_t max);
void output_feed(struct output_capture *output, struct str bytes, output_fn *pass, void *self);
/* The stream has ended: a last line without its end counts. */
void output_end(struct output_capture *output, output_fn *pass, void *self);
/* A map of texts; lives as long as the output. */
struct value output_values(const struct output_capture *output);
void output_done(struct output_capture *output);

#endif
