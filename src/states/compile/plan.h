/*
 * plan - the plan of a run: all states, checked, with resolved requisites and levels.
 *
 * The compiler fills it (states/compile/compile.h), the runner reads it (states/run/run.h). After
 * compilation it never changes and contains no YAML or Jinja: arguments are decoded, targets are
 * numbers.
 *
 * Memory: the arena of the compilation. Threads: any number of readers.
 */
#ifndef STATES_COMPILE_PLAN_H
#define STATES_COMPILE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/diag.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/value.h"

struct dag;
struct dialect;
struct module;
struct output_list;
struct state_host;

/* The kinds of requisites. The compiler rewrites every other form to one of these.
 */
enum requisite {
    REQUISITE_REQUIRE,       /* all of them succeeded */
    REQUISITE_REQUIRE_ANY,   /* one of them succeeded */
    REQUISITE_WATCH,         /* require; a change forces apply */
    REQUISITE_WATCH_ANY,     /* require_any; a change forces apply */
    REQUISITE_ONCHANGES,     /* one of them changed, none failed */
    REQUISITE_ONCHANGES_ANY, /* one of them changed, whatever the outcome of the others */
    REQUISITE_ONFAIL,        /* one of them failed */
    REQUISITE_ONFAIL_ALL,    /* all of them failed */
    REQUISITE_PREREQ,        /* one of them would change; they come later, not before */
    REQUISITE_LISTEN,        /* a change of one makes it react at the end; no order */
    REQUISITE_IMPLIED,       /* implied requisites: they run first (states/compile/implied.h) */
    REQUISITE_ORDER,         /* they are written before it (states/compile/written.h) */
};
#define REQUISITES (REQUISITE_ORDER + 1)

/* The properties of a requisite. All names and differences are in the table of
 * states/compile/requisite.c. */
struct requisite_rule {
    bool success;      /* targets must succeed */
    bool failure;      /* targets must fail */
    bool one;          /* one target is enough */
    bool change;       /* a change of a target forces apply */
    bool only_change;  /* without a change, nothing is done */
    bool later;        /* targets run later, and require this state */
    bool apart;        /* targets may run before or after it */
    const char *style; /* color of its arrows in drawings */
};
const struct requisite_rule *requisite_rule(enum requisite requisite);
/* As users write it: "require", "onfail_all"; "implied order" and "written order" are internal. */
const char *requisite_name(enum requisite requisite);

struct plan_targets {
    const uint32_t *p; /* numbers of states */
    size_t n;
};

/* A command or function that decides whether a state may run, or checks its result. */
struct plan_guard {
    const char *command;           /* for the shell; the name of the function */
    const struct module *function; /* NULL: it is a command */
    const void *args;              /* of the function, decoded */
    bool is_status;                /* a command with options: the function returns its status */
    struct value words, pairs;     /* arguments of a function that only templates have */
    const char *path;              /* path into its result: "a:b"; NULL: all of it */
    struct place at;
};
struct plan_guards {
    const struct plan_guard *p;
    size_t n;
};

struct plan_retry {
    int64_t attempts; /* additional ones */
    int64_t interval; /* nanoseconds between them */
    int64_t splay;    /* maximum random extra delay */
};

#define PLAN_ORDER_FIRST (-1000000)
#define PLAN_ORDER_LAST  1000000

struct plan_state {
    const char *name;               /* "file.managed:/etc/motd" */
    const char *id;                 /* "/etc/motd" */
    const char *ref;                /* the file it came from: "web.config" */
    const struct param_strs *files; /* all that declare it, by tree_ref: whose state it is */
    struct place at;                /* of its declaration */
    const struct module *module;
    const void *args;  /* decoded; NULL while it waits for outputs */
    struct value body; /* the arguments as a map, for the undo journal and for outputs */
    const struct value_map *shown; /* as they were written, if the body differs; NULL */
    bool deferred;                 /* contains outputs('...'): decoded when it starts */

    struct plan_targets requisites[REQUISITES];
    struct param_strs absent;  /* missing optional targets: "require pkg:nginx" */
    struct plan_targets asked; /* of Salt files: what must run first, in the order of the lists */
    const struct dialect *dialect; /* of its file */
    uint32_t sequence;             /* number of its declaration, as written */
    uint32_t position;             /* among the states whose order is the written one */
    const char *mistake;           /* why it fails when it starts, or NULL */
    bool listener;                 /* reacts at the end for another state; shown only if it does */
    bool listens;                  /* it lists its sources; else the sources list it */
    uint32_t heard;                /* when its first `listen` or `listen_in` was read */
    struct plan_guards onlyif, unless, check_cmd;
    struct param_strs creates; /* paths: if all exist, nothing to do */
    const char *tool_user;     /* runas of its programs; NULL: our own user */
    const char *guard_user;    /* runas of the guards; NULL: our own user */
    int64_t order;
    bool has_order;
    bool parallel;          /* declared to run in parallel with its neighbours */
    bool no_implied;        /* no implied requisites */
    bool handles;           /* if it succeeds, failures of its onfail targets do not fail the run */
    bool reload_facts;      /* facts are collected again once it has run */
    const char *fire_event; /* the end of the tag of its event; "": its name; NULL: no event */
    struct plan_retry retry;
    bool failhard;
    bool dry;   /* checked, never applied */
    bool alone; /* no other state of its level runs at the same time */
    bool has_umask;
    mode_t umask; /* of new files and of its commands */
    bool secret;  /* its arguments must not be shown */
    uint32_t level;
};

struct managed;
struct map;

/* Documents with values that are marked VALUE_SECRET. */
struct plan_marked {
    VEC(const struct value *) list;
};

struct plan {
    struct plan_state *states;
    uint32_t count;
    uint32_t listeners;    /* the last ones of these; shown only if they react */
    const struct dag *dag; /* edges typed by enum requisite */
    uint32_t level_count;
    const uint32_t *order;       /* state numbers by level, order, name: as results are listed */
    const uint32_t *level_start; /* level_count + 1 offsets into `order` */
    struct param_strs refs;      /* the request */
    const struct output_list *outputs; /* outputs for deferred states; states/compile/output.h */
    const struct diags *warnings;      /* unknown parameters, if those are not mistakes */
    const struct map *names;           /* struct plan_state by full name */
    const struct managed *managed;     /* paths of all states; NULL: no state has a `clean` */
    struct plan_marked marked; /* secret texts, which a run of a cached plan must mask, too */
};

/* The number of the state with this full name, or -1. */
int64_t plan_find(const struct plan *plan, const char *name);

/* Does any state fail at its start? */
bool plan_has_mistakes(const struct plan *plan);

/* Decode the arguments of a state from a body without marks: the compiler does this for all states
 * that are not deferred, the runner for the others after output_fill. Unknown parameters are
 * reported in `unknown` and are not mistakes; NULL: they are. Returns -1 when it added to `diags`.
 *  */
int plan_decode(struct arena *arena, const struct plan_state *state, const struct value *body,
                struct diags *unknown, const void **ret_args, struct diags *diags);

/* Are unknown parameters of the state a mistake? */
bool plan_is_strict(const struct plan_state *state, const struct state_host *host);

/* Check the known arguments while others are not known yet: unknown parameters, and invalid
 * values. */
int plan_check_given(struct arena *arena, const struct plan_state *state, struct diags *unknown,
                     struct diags *diags);

#endif
