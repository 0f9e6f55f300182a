/*
 * output - passes outputs of one state to a later one.
 *
 * `outputs('cmd.run:build').stdout` in a template becomes a mark in the text, because the named
 * state has not run yet. The compiler finds the marks in arguments, makes the state wait for those
 * they name, and leaves the arguments alone. When the state starts, the runner replaces each mark
 * by the value from the details.
 *
 * A mark is a number between two characters of Unicode's private area, which are valid in YAML; the
 * number is an index into the list. A text that consists of one mark becomes the value itself, of
 * any kind; a mark inside a text becomes text.
 *
 * Memory: the arena of the list. Threads: any number of readers once compiled.
 */
#ifndef STATES_COMPILE_OUTPUT_H
#define STATES_COMPILE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/diag.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/data/value.h"

struct err;

#define OUTPUT_BEGIN "\xef\xa3\xb0" /* U+F8F0 */
#define OUTPUT_END   "\xef\xa3\xb1" /* U+F8F1 */
/* Marks in one compilation, and steps after outputs('...'). */
#define OUTPUT_MARKS_MAX 100000
#define OUTPUT_STEPS_MAX 32

struct output {
    const char *target; /* as it was written: "cmd.run:build", "build" */
    struct str path;    /* into the details: "stdout", "a.b"; empty: all of them */
    struct place at;
    uint32_t state; /* the number in the plan, once compiled */
};

struct output_list {
    struct arena *arena;
    VEC(struct output) list;
};

/* A new mark, as text in the arena. A NULL view when there are already OUTPUT_MARKS_MAX. */
struct str output_mark(struct output_list *outputs, const char *target, struct str path,
                       struct place at);

/* Is there a mark anywhere in the value? */
bool output_has_mark(const struct value *v);
/* Call `found` for each mark in the value; unknown numbers are skipped. */
typedef void output_found_fn(void *user, struct output *output);
void output_each(struct output_list *outputs, const struct value *v, output_found_fn *found,
                 void *user);

/* The details of the state that an output names; NULL if it did not run. A text instead of a
 * map is used for every detail, for a dry run. */
typedef const struct value *output_details_fn(void *user, uint32_t state);
/* A copy of `v` with every mark replaced. A missing detail is an error. */
int output_fill(struct arena *arena, const struct output_list *outputs, const struct value *v,
                output_details_fn *details, void *user, struct value *ret, struct err *err);

#endif
