/*
 * output - values that a process passes on by writing marked lines.
 *
 * A line of standard output of the form "::output::KEY=VALUE" sets KEY; the first '=' splits, the
 * last line for a key wins, an empty key is dropped. Such lines are removed from the stream; all
 * others pass unchanged, bytes, partial lines and all. Keys and values together are bounded:
 * excess ones are dropped, and `dropped` is set.
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
/* Maximum length of a marked line; the excess is lost. */
#define OUTPUT_LINE_MAX ((size_t)1 << 20)

struct output_capture {
    struct arena arena;
    struct value_map *values;
    size_t size, max; /* limit for all keys and values */
    struct buf line;  /* the beginning of a possibly marked line */
    bool passing;     /* inside an unmarked line */
    bool dropped;     /* something was too large */
    uint32_t broken;  /* marked lines without '=' */
};

/* Receives the unmarked lines. */
typedef void output_fn(void *self, struct str bytes);

void output_init(struct output_capture *output, size_t max);
void output_feed(struct output_capture *output, struct str bytes, output_fn *pass, void *self);
/* The stream has ended: an unfinished last line counts. */
void output_end(struct output_capture *output, output_fn *pass, void *self);
/* A map of texts; lives as long as the output. */
struct value output_values(const struct output_capture *output);
void output_done(struct output_capture *output);

#endif
