/*
 * render - one rendering: the state of a running template.
 *
 * Evaluator, filters and methods receive it. It owns the memory of the values
 * that the rendering makes, counts against the limits, and keeps the first error
 * with the place where it happened.
 *
 * An operation that fails returns -1 after render_fail; callers just return
 * -1, and the evaluator adds the stack of includes and macros at the end.
 */
#ifndef LANGUAGE_JINJA_RENDER_H
#define LANGUAGE_JINJA_RENDER_H

#include "core/data/value.h"
#include "core/data/yaml.h"
#include "language/jinja/jinja.h"

/* The matching kind of Jinja2 exception. */
enum render_error {
    RENDER_SYNTAX,
    RENDER_UNDEFINED,
    RENDER_TYPE,      /* an operand, argument or value that does not fit */
    RENDER_NOT_FOUND, /* a template, filter, test or block */
    RENDER_LIMIT,
    RENDER_HOST, /* a function of the host failed */
};

struct container_overlay; /* changed copies of context containers, see container.h */
struct regex_cache;
struct template; /* a parsed template, see template.h */

struct render {
    struct jinja *jinja;
    const struct jinja_options *options;
    struct arena *arena; /* temporary values, freed after the rendering */
    struct container_overlay *overlay;
    struct regex_cache *regexes;     /* compiled patterns, see regex.h */
    const struct template *template; /* The running node, and its place in the text: */
    uint32_t at;                     /* render_fail turns both into a place */
    enum yaml_dialect
        yaml;        /* dialect of import_yaml, load_yaml: as the main template's name says */
    bool autoescape; /* the current mode: {% autoescape %} changes it */
    uint32_t depth;  /* depth of calls and loops at run time */
    uint64_t steps;
    uint64_t next_look; /* the step count of the next check of clock and memory */
    int64_t deadline;

    bool failed;
    enum render_error error;
    struct place error_place;
    const struct template *error_template;
    const char *error_text, *error_hint;
    /* Adds a hint to the error of an undefined variable; NULL: none. */
    void (*explain)(struct render *render, struct str name);
    VEC(struct diag_note) notes; /* the includes and calls that led to the error, innermost first */
};

/* Ready to run with the limits of the options. */
void render_init(struct render *render, struct jinja *jinja, const struct jinja_options *options,
                 struct arena *arena);

/* Keep the first error; returns -1. */
/* The function reads more than its arguments: ask the host, which may refuse it (-1). */
int render_ask_host(struct render *render, const char *function);

int render_fail(struct render *render, enum render_error error, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The place of the running node. */
struct place render_place(const struct render *render);
/* While unwinding: the name of what was running. */
void render_note(struct render *render, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Add a hint to the error just kept. */
void render_hint(struct render *render, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Check the expensive limits; render_step calls it now and then. */
int render_check(struct render *render);
/* Count `n` steps of work (a loop turn, a call, a kilobyte made) against steps, memory and time. */
static inline int render_step(struct render *render, uint64_t n)
{
    render->steps += n;
    return render->steps >= render->next_look ? render_check(render) : 0;
}
/* One level deeper; after success the caller must call render_leave. */
int render_enter(struct render *render);
void render_leave(struct render *render);

#endif
