/*
 * env - the inside of an environment, for the files of this folder.
 *
 * Order of a template's life: jinja_render -> env_load or template_new ->
 * eval_run (eval.h). Templates that came through the loader stay until the
 * environment ends; the text given to jinja_render is kept under its name and
 * replaced when it changes.
 *
 * Memory and threads: as jinja.h.
 */
#ifndef LANGUAGE_JINJA_ENV_H
#define LANGUAGE_JINJA_ENV_H

#include "core/base/arena.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "language/jinja/jinja.h"
#include "language/jinja/name.h"
#include "language/jinja/signature.h"

struct diags;
struct err;
struct template;

/* Methods that filters call by a literal name: looked up once for each call site. */
#define ENV_METHODS 64

struct env_method {
    const char *literal;
    uint8_t kind;
    const struct function *method;
};

struct jinja {
    struct jinja_options options;
    struct arena arena;
    struct name_table names;
    struct signatures signatures;
    struct map loaded;              /* name -> template, from the loader */
    struct map given;               /* name -> template, from jinja_render */
    VEC(struct template *) retired; /* replaced during a rendering, and still in use */
    uint32_t running;               /* renderings under way: a host function may start another */
    uint64_t serial;                /* number of the newest rendering */
    struct env_method methods[ENV_METHODS]; /* by the address of the name */
    struct arena values; /* values of the outermost rendering; kept between renderings */
};

/* Load the template of that name. `ret` is NULL when there is none. Fails, with the reason in
 * `diags`, when it cannot be loaded or parsed. */
int env_load(struct jinja *jinja, struct str name, struct template **ret, struct diags *diags);

/* The value of a name that neither the template nor its context has; absent: nothing. */
struct value env_global(struct jinja *jinja, struct name *name);

#endif
