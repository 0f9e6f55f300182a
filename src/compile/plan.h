/*
 * plan - what a run will do: every state, checked, with its requisites resolved
 * to other states and its level in the graph.
 *
 * The compiler fills it (compile/compile.h), the runner reads it (run/run.h).
 * After compiling it never changes and holds no word of YAML or Jinja: arguments
 * are decoded, targets are numbers.
 *
 * Memory: the arena of the compilation. Threads: any number of readers.
 */
#ifndef COMPILE_PLAN_H
#define COMPILE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "data/params.h"
#include "data/value.h"

struct dag;
struct dialect;
struct module;
struct output_list;
struct state_host;

/* What a state may demand of others. Every other form is rewritten to one of these by the compiler.
 */
enum requisite {
    REQUISITE_REQUIRE,       /* all of them succeeded */
    REQUISITE_REQUIRE_ANY,   /* one of them succeeded */
    REQUISITE_WATCH,         /* require; a change forces apply */
    REQUISITE_WATCH_ANY,     /* require_any; a change forces apply */
    REQUISITE_ONCHANGES,     /* one of them changed, none failed */
    REQUISITE_ONCHANGES_ANY, /* one of them changed, whatever became of the others */
    REQUISITE_ONFAIL,        /* one of them failed */
    REQUISITE_ONFAIL_ALL,    /* all of them failed */
    REQUISITE_PREREQ,        /* one of them would change; they come later, not before */
    REQUISITE_LISTEN,        /* a change of one makes it react at the end; no order */
    REQUISITE_IMPLIED,       /* it plainly needs them, and they come first (compile/implied.h) */
    REQUISITE_ORDER,         /* they are written before it (compile/written.h) */
};
#define REQUISITES (REQUISITE_ORDER + 1)

/* What a requisite demands. The names, and all that differs between requisites, stand in the one
 * table of compile/requisite.c. */
struct requisite_rule {
    bool success;      /* targets have to succeed */
    bool failure;      /* they have to fail */
    bool one;          /* one of them is enough */
    bool change;       /* a change of one of them is a reason to act */
    bool only_change;  /* and without one nothing is done */
    bool later;        /* targets come later, and require this state */
    bool apart;        /* they may come before or behind it */
    const char *style; /* of its arrows in drawings */
};
const struct requisite_rule *requisite_rule(enum requisite requisite);
/* As users write it: "require", "onfail_all"; "implied order" and "written order", which nobody
 * does. */
const char *requisite_name(enum requisite requisite);

struct plan_targets {
    const uint32_t *p; /* numbers of states */
    size_t n;
};

/* A command or a function that decides whether a state may run, or that checks what it did. */
struct plan_guard {
    const char *command;           /* for the shell; the name of the function */
    const struct module *function; /* NULL: it is a command */
    const void *args;              /* of the function, decoded */
    const char *path;              /* into what it gives: "a:b"; NULL: all of it */
    struct place at;
};
struct plan_guards {
    const struct plan_guard *p;
    size_t n;
};

struct plan_retry {
    int64_t attempts; /* additional ones */
    int64_t interval; /* nanoseconds between them */
    int64_t splay;    /* and up to so many more, by chance */
};

#define PLAN_ORDER_FIRST (-1000000)
#define PLAN_ORDER_LAST  1000000

struct plan_state {
    const char *name; /* "file.managed:/etc/motd" */
    const char *id;   /* "/etc/motd" */
    const char *ref;  /* the file it came from: "web.config" */
    struct place at;  /* of its declaration */
    const struct module *module;
    const void *args;  /* decoded; NULL while it waits for outputs */
    struct value body; /* the arguments as a map, for the undo journal and for outputs */
    const struct value_map *shown; /* as they were written, when the body is made of them; NULL */
    bool deferred;                 /* has outputs('...') in it: decoded when it starts */

    struct plan_targets requisites[REQUISITES];
    const struct dialect *dialect; /* of its file */
    uint32_t sequence;             /* its declaration, counted as written */
    uint32_t position;             /* among the states whose order is the written one */
    const char *mistake;           /* why it fails when it starts; NULL */
    bool listener; /* reacts at the end for another state; not shown unless it does */
    struct plan_guards onlyif, unless, check_cmd;
    struct param_strs creates; /* paths: all there, nothing to do */
    const char *guard_user;    /* runas of the guards; NULL: ours */
    int64_t order;
    bool has_order;
    bool parallel;   /* its author says that it may run together with its neighbours */
    bool no_implied; /* only what is written says what it waits for */
    struct plan_retry retry;
    bool failhard;
    bool dry;   /* looked at and never applied */
    bool alone; /* no other state of its level runs at the same time */
    bool has_umask;
    mode_t umask; /* of what it makes and of its commands */
    bool secret;  /* nothing of its arguments may be shown */
    uint32_t level;
};

struct managed;
struct map;

struct plan {
    struct plan_state *states;
    uint32_t count;
    uint32_t listeners;    /* of these, the last ones: they are shown only when they react */
    const struct dag *dag; /* edges typed by enum requisite */
    uint32_t level_count;
    const uint32_t *order;       /* state numbers by level, order, name: as results are listed */
    const uint32_t *level_start; /* level_count + 1 offsets into `order` */
    struct param_strs refs;      /* what was asked for */
    const struct output_list *outputs; /* what deferred states wait for, see compile/output.h */
    const struct diags *warnings;      /* unknown parameters, when those are no mistakes */
    const struct map *names;           /* struct plan_state by full name */
    const struct managed *managed;     /* paths of all states; NULL: no state has a `clean` */
};

/* The number of the state with this full name, or -1. */
int64_t plan_find(const struct plan *plan, const char *name);

/* Is there a state that fails when it starts? */
bool plan_has_mistakes(const struct plan *plan);

/* Decode the arguments of a state from a body without marks: what the compiler does for all states
 * that are not deferred, and the runner for those that are, once output_fill has filled the body.
 * Unknown parameters are told in `unknown` and are no mistake; NULL: they are. Returns -1 when it
 * added to `diags`. */
int plan_decode(struct arena *arena, const struct plan_state *state, const struct value *body,
                struct diags *unknown, const void **ret_args, struct diags *diags);

/* Are unknown parameters of the state a mistake? */
bool plan_is_strict(const struct plan_state *state, const struct state_host *host);

/* What can be told of the arguments that are there while others are not known yet: unknown
 * parameters, and values that do not fit. */
int plan_check_given(struct arena *arena, const struct plan_state *state, struct diags *unknown,
                     struct diags *diags);

#endif
