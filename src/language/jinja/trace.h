/*
 * trace - the origin of rendered text.
 *
 * While a template runs, every piece of its text that is written leaves a mark. Afterwards a place
 * in the output can be traced to a place in a template: the exact one for the template's own text,
 * else the expression or block that wrote it. So a mistake in rendered YAML is shown in its source
 * file.
 *
 * Memory: the arena of the trace; templates must live as long as the trace is used.
 */
#ifndef LANGUAGE_JINJA_TRACE_H
#define LANGUAGE_JINJA_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/diag.h"
#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct template;

struct trace_mark {
    size_t out; /* offset in the output */
    size_t n;
    uint32_t at; /* offset in the template */
    const struct template *template;
};

struct trace {
    struct arena *arena;
    VEC(struct trace_mark) marks; /* by offset in the output */
};

#define TRACE_INIT(where)                                                                          \
    {                                                                                              \
        .arena = (where)                                                                           \
    }

/* `n` bytes from `at` on were written at `out`. */
void trace_add(struct trace *trace, size_t out, const struct template *template, uint32_t at,
               size_t n);
/* The output was cut to `out` bytes. */
void trace_cut(struct trace *trace, size_t out);

/* The origin of byte `out` of the output, and the text of that template. False when it is unknown.
 * The file's name belongs to the template. */
bool trace_find(const struct trace *trace, size_t out, struct place *ret_place,
                struct str *ret_text);

#endif
