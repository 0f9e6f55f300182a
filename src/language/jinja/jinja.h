/*
 * jinja - templates that behave like Jinja2.
 *
 * An environment holds options, a loader, functions of the host program and the
 * templates parsed so far. Rendering takes values and gives text:
 *
 *     struct jinja *jinja = jinja_new(&options);
 *     jinja_render(jinja, "web.zy", text, &context, &out, &diags);
 *     jinja_free(jinja);
 *
 * A template that comes through the loader is parsed once and kept. The context
 * is borrowed and never changed: a template that calls `update` or `append` on a
 * part of it sees its own change, and no other template does.
 *
 * Errors are diagnostics with template, line, column, source line and caret, and a
 * note for each include, import, block and macro that led there.
 *
 * Memory: the environment owns its templates. Threads: parsing and rendering
 * need exclusive use of the environment; use one environment per thread.
 */
#ifndef LANGUAGE_JINJA_JINJA_H
#define LANGUAGE_JINJA_JINJA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct buf;
struct builtins;
struct diags;
struct err;
struct function;
struct jinja;
struct trace;
struct value;

/* Named limits; 0 takes the default. Reaching one is an error that names it. */
struct jinja_limits {
    size_t template_bytes; /* text of one template: 4 MiB */
    size_t output_bytes;   /* output of one rendering: 64 MiB */
    size_t memory_bytes;   /* values made by one rendering: 512 MiB */
    uint32_t nesting;      /* depth of expressions and blocks: 200 */
    uint32_t recursion;    /* depth of calls, includes and loops at run time: 200 */
    uint64_t steps;        /* loop turns and calls: 50,000,000 */
    int64_t nanoseconds;   /* time of one rendering: 30 s; needs `now` */
};

struct jinja_options {
    bool
        lenient; /* an undefined value prints as nothing, as in plain Jinja2; else it is an error */
    bool salt;   /* every template uses Salt's dialect, not only names that end in ".sls" */
    bool autoescape; /* texts are escaped for HTML unless they are safe */
    bool trim_blocks, lstrip_blocks;
    bool drop_trailing_newline;
    struct jinja_limits limits;
    const struct builtins *builtins; /* filters and so on; NULL: none */

    /* Find the text of a template by name. `ret_text` stays a NULL view when there is none; the
     * text must live as long as the environment, and may be put into `arena`. */
    int (*load)(void *user, struct str name, struct arena *arena, struct str *ret_text,
                struct err *err);
    /* The host's context for a template imported without context, a map in `arena`: its location,
     * and what every template sees. NULL: such a template sees globals only. */
    const struct value *(*about)(void *user, const char *template, struct arena *arena);
    bool (*is_stopped)(void *user); /* whether to end now, with an error; NULL: never */
    int64_t (*now)(void *user);     /* monotonic nanoseconds; NULL: no time limit */
    uint64_t (*random)(void *user); /* for `random` and `shuffle`; NULL: they are errors */
    /* Called before a host function, or a built-in one that reads the machine, is called; -1
     * refuses it, and the rendering fails with JINJA_ASKS_MACHINE. NULL: no callback. */
    int (*asked)(void *user, const char *function);
    void *user;
};

/* The end of the message about a function that was refused. */
#define JINJA_ASKS_MACHINE "only the machine itself can answer it"

/* Is the text its own result, except for its last newline? It has no tag, and no line end that
 * would be changed. */
bool jinja_is_plain(struct str text);

struct jinja *jinja_new(const struct jinja_options *options);
void jinja_free(struct jinja *jinja);

/* Add host functions under `name`, a global of every template. `functions` ends with a line without
 * a name and is borrowed; the functions get `user`. Later ones hide earlier ones of the same name.
 */
void jinja_add_functions(struct jinja *jinja, const struct function *functions, void *user);

/* Add a value that every template sees unless its context has the name; borrowed. Objects may be
 * made with object_value: `salt['cmd.run']('x')`. Replaces an earlier one of the same name. */
void jinja_add_global(struct jinja *jinja, const char *name, struct value value);

/* Render `text`; `name` is its name in errors. `context` is a map. */
int jinja_render(struct jinja *jinja, const char *name, struct str text,
                 const struct value *context, struct buf *out, struct diags *diags);

/* The same; `trace` (language/jinja/trace.h) records the origin of the output. */
int jinja_render_traced(struct jinja *jinja, const char *name, struct str text,
                        const struct value *context, struct buf *out, struct trace *trace,
                        struct diags *diags);

/* Only parse: report all syntax errors that can be found without running. `known`, a list that ends
 * in NULL, has the names of the context: then each use of a name that neither the context, a global
 * nor the template defines is a mistake as well. Exceptions: a name that is tested for being
 * defined or has a default, and names used in `{% block %}`s. */
int jinja_check(struct jinja *jinja, const char *name, struct str text, const char *const *known,
                struct diags *diags);

#endif
