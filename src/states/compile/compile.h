/*
 * compile - from references to a plan.
 *
 *     load -> render -> parse -> merge equal IDs -> extend, exclude -> rewrite
 *     requisites -> expand names -> decode arguments -> graph -> levels
 *
 * All mistakes in all files are reported at once, with places and hints; if there is one, nothing
 * runs.
 *
 * Threads: one at a time.
 */
#ifndef STATES_COMPILE_COMPILE_H
#define STATES_COMPILE_COMPILE_H

#include "core/base/str.h"
#include "core/data/params.h"

struct arena;
struct diags;
struct plan;
struct state_host;
struct value;

#define COMPILE_STATES_MAX 1000000
#define COMPILE_FILES_MAX  100000
/* The name of a text that is compiled instead of files. */
#define COMPILE_TEXT_NAME "template_str"

/* The request. */
struct compile_wish {
    struct param_strs refs;      /* each "a.b" or a comma-separated list; none: use the top file */
    struct str text;             /* a Salt file, instead of references; a NULL view: none */
    const char *id;              /* only states of this ID and their requisites; NULL: all */
    const struct value *exclude; /* what to leave out, as in an 'exclude'; NULL */
};
int compile_wish(struct arena *arena, struct state_host *host, const struct compile_wish *wish,
                 const struct plan **ret, struct diags *diags);

/* The states of these references. */
int compile_refs(struct arena *arena, struct state_host *host, struct param_strs refs,
                 const struct plan **ret, struct diags *diags);
/* The states that the top file assigns to this machine. */
int compile_top(struct arena *arena, struct state_host *host, const struct plan **ret,
                struct diags *diags);
/* The references of the top file: a map of environments to lists. */
int compile_top_refs(struct arena *arena, struct state_host *host, struct value *ret,
                     struct diags *diags);
/* A single state: `zester --local file.managed /etc/motd contents=hi`. */
int compile_single(struct arena *arena, struct state_host *host, const char *module, const char *id,
                   const struct value *body, const struct plan **ret, struct diags *diags);

#endif
