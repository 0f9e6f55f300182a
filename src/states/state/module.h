/*
 * module - one kind of state (`file.managed`) or one function (`disk.usage`),
 * whole in one file of src/modules/.
 *
 * A state module compares and changes:
 *
 *     check   records differences (state_differs, state_diff) and touches nothing; when it is
 *             forced, which it sees in a dry run, it also says what that alone would do;
 *     apply   runs when there are some, or when it is forced; every change of the
 *             file system goes through states/undo/change.h, which keeps the before-image;
 *     revert  undoes what apply noted with state_note; files come back without it. It
 *             counts as a change unless it calls state_unchanged.
 *
 * A function module answers: `call` gives a value. A module may be both; the
 * command line then uses the state, a template the function.
 *
 * Arguments arrive decoded by the parameter table: a module never sees YAML.
 * `tools/gen-modules` makes the table of all modules from the file names, so that
 * adding one is adding a file.
 *
 * Threads: check, apply, revert and call run in worker threads, many at once; what
 * they may touch is in struct state_run.
 */
#ifndef STATES_STATE_MODULE_H
#define STATES_STATE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/value.h"

struct change;
struct diags;
struct digest;
struct err;
struct managed;
struct process_spec;
struct process_result;
struct sha256;
struct state_host;
struct state_run;

/* One bit each. */
enum module_flag {
    MODULE_ALWAYS = 1 << 0,  /* it runs each time (cmd.run, test.ping) */
    MODULE_HIDDEN = 1 << 1,  /* not in the index of the manual */
    MODULE_TREE = 1 << 2,    /* owns all that is below its path (states/state/managed.h) */
    MODULE_REMOVES = 1 << 3, /* its path must not exist */
    MODULE_ACTS = 1 << 4,    /* a function that changes something: it has no dry run */
    MODULE_NO_UNDO = 1 << 5, /* what it does leaves no images, and nothing takes it back */
    MODULE_WHOLE = 1 << 6,   /* decides about all of its path (states/compile/contest.h) */
    MODULE_LOCAL =
        1 << 7, /* touches nothing but its path or its packages (states/compile/touch.h) */
    MODULE_EXACT = 1 << 8,  /* an unknown parameter is a mistake in Salt files, too: without it the
                             * state would mean something else */
    MODULE_CLEANS = 1 << 9, /* removes what it finds, but not what other states manage */
    MODULE_FILES_FIRST = 1 << 10, /* at a revert, files are back before `revert` is called */
    MODULE_STEP = 1 << 11,        /* a job for other machines: nothing is done on this one */
    MODULE_IDLE = 1 << 12,        /* changes nothing, whatever its parameters are */
    MODULE_FACTS = 1 << 13,       /* changes facts: they are collected again once it has run */
};

struct module {
    const char *name;    /* "file.managed" */
    const char *summary; /* one line, lower case, no full stop */
    const char *details; /* more, for the manual; NULL */
    const char *example; /* arguments as YAML that work in a scratch root; ROOT stands for it */
    const struct param *params;
    size_t args_size;
    const char *lock; /* a name: states that share it do not run at the same time; NULL */
    unsigned flags;

    /* Mistakes that the table cannot see; NULL. `where` is the body, for places. */
    int (*validate)(const void *args, const struct value *where, struct diags *diags);
    int (*check)(struct state_run *run, const void *args, struct err *err);
    int (*apply)(struct state_run *run, const void *args, struct err *err);
    int (*revert)(struct state_run *run, const void *args, struct err *err);
    int (*call)(struct state_run *run, const void *args, struct value *ret, struct err *err);
};

/* All modules, sorted by name; made by the build. */
extern const struct module *const module_table[];
extern const size_t module_count;

const struct module *module_find(struct str name);
/* What a single state is about, when the map `given` does not say it: then a word must. An empty
 * text says nothing. NULL: nothing is missing. */
const struct param *module_missing(const struct module *module, const struct value *given);
/* The nearest name, for "did you mean"; NULL when none is near. */
const char *module_suggest(struct str name);
/* Is there a "family.something"? */
bool module_has_family(struct str descendants);
/* The names that the manual has, each after a blank. */
void module_add_names(struct buf *out);

/* A state of the level that runs now. */
struct state_peer {
    const char *name;
    const struct module *module;
    const void *args;
};

/* States of a level that share a lock, so that one may do the work of others in one go (a run of
 * the package manager). Those that may yet turn out not to run (guards, prereq, outputs) are not in
 * it. The holder of the lock may change it. */
struct state_group {
    VEC(struct state_peer) peers;
    struct map left; /* by name of a state: what another one left for it */
    struct arena arena;
    /* The state of this name is about to be changed by another one. */
    int (*begin)(void *user, const char *name, struct err *err);
    void *user;
};

/* One state while it runs. Modules read the first part and call the functions below. */
/* What check found, as it reads once it was changed. */
struct state_report {
    struct buf text;
    size_t last; /* where the last sentence begins */
};

struct state_run {
    struct arena *arena;       /* for this state in this run */
    const char *name;          /* "file.managed:/etc/motd" */
    bool test;                 /* dry run: apply is never called */
    bool forced;               /* apply without check: a watched state changed, or prereq */
    bool salt;                 /* from a Salt file: where the languages differ, Salt's meaning */
    bool secret;               /* has secrets among its arguments: contents are not shown */
    struct state_host *host;   /* files, templates, commands: what the caller supplies */
    struct state_group *group; /* of its lock, itself included; NULL: it is alone, or a dry run */
    const char *runas; /* who runs its programs, unless its arguments say so; NULL: our own user */
    const mode_t *umask; /* of new files and folders, and of commands; NULL: 022, and our own */
    const struct managed *managed; /* paths of all states of the run; NULL: nobody asks for them */

    /* What the module has said so far; read by the runner. */
    bool differs;
    bool acts;                   /* nothing differs, but there is something to do */
    bool unchanged;              /* apply said so */
    bool untouched;              /* should apply fail, it has changed nothing that it has noted */
    bool cleans_up;              /* what it does now is done after a cancel, too */
    struct buf text;             /* the human-readable differences */
    struct state_report *done;   /* the same in the words of what was done; NULL: nobody asks */
    struct sha256 *plan_binding; /* of what state_bind was given; NULL: nobody asks */
    struct value_map *details;   /* text to text */
    struct value_map *notes;     /* of apply, for revert; at revert: what apply noted */
    struct change *change;       /* what it may change by states/undo/change.h; NULL: nothing */
};

/* --- what check says -------------------------------------------------------- */

/* A sentence: "file /etc/motd does not exist". Marks the state as differing. */
void state_differs(struct state_run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* What the report of a run that has changed it says instead of the sentence before: "created
 * /etc/motd". */
void state_made(struct state_run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same for one attribute: "mode: 0644 -> 0600". NULL: not there. */
void state_diff(struct state_run *run, const char *what, const char *old, const char *now);
/* Content of a file, as a unified diff. A NULL view: the file is not there. Binary content and
 * content over a named limit, or of a state with secrets, is only summarised. */
void state_diff_content(struct state_run *run, const char *path, struct str old, struct str now);
/* What would change, whatever the report shows of it: a run that is held to a dry run
 * (states/run/plan_binding.h) begins only if it is the same. A NULL view: not there. */
void state_bind(struct state_run *run, struct str bytes);
/* The same for a path: its kind, and the content of a file or the target of a link. */
int state_bind_path(struct state_run *run, const char *path, struct err *err);
/* There is something to do that changes nothing: apply runs, and calls state_unchanged. */
void state_acts(struct state_run *run);
/* A remark that is not a difference: "already installed". */
void state_say(struct state_run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* --- what apply says -------------------------------------------------------- */

/* What was done, for `details`; texts are copied. */
void state_detail(struct state_run *run, const char *key, const char *fmt, ...) PRINTF_LIKE(3, 4);
void state_detail_value(struct state_run *run, const char *key, struct value value);
/* Something that revert needs; on disk before this returns. */
int state_note(struct state_run *run, const char *key, struct value value, struct err *err);
/* What was noted under `key` by the apply that is being reverted; NULL. */
const struct value *state_noted(const struct state_run *run, const char *key);
/* apply found that nothing had to be done after all. */
void state_unchanged(struct state_run *run);
/* What apply noted for a revert did not happen: if it fails, nothing has changed. */
void state_untouched(struct state_run *run);
/* What apply does next, it does for this state of its group as well. */
int state_acts_for(struct state_run *run, const char *name, struct err *err);

/* --- what a module may ask for ------------------------------------------------ */

/* Run a command: bounded output, killed with its tree when the run is canceled. */
int state_command(struct state_run *run, const struct process_spec *spec, int64_t timeout_ns,
                  struct process_result *ret, struct err *err);

/* The bytes of a source: an absolute path, a path of the state tree (relative, salt://,
 * zester://), or http(s):// with a hash ("sha256=..."; NULL: none). Not there: ERR_NOT_FOUND. */
int state_source(struct state_run *run, const char *source, const char *hash, struct str *ret,
                 struct err *err);
/* Why the bytes of a source can be trusted. All zero: because they are on this machine. */
struct source_trust {
    const char
        *hash; /* what they hash to, or a file of checksums (states/state/source_hash.h); NULL */
    const char *name; /* the name to look for in such a file; NULL: the one of the source */
    bool skip_verify; /* the state accepts them unverified */
};
int state_source_trusted(struct state_run *run, const char *source,
                         const struct source_trust *trust, struct str *ret, struct err *err);
/* What a source holds. More than this is not read into memory: it stays in its file. */
#define SOURCE_HELD_MAX ((size_t)1 << 20)
struct source_content {
    struct str text;  /* a NULL view: in `file` */
    const char *file; /* a file of this machine that nobody else can change; NULL: in `text` */
    uint64_t size;
};
/* The same as state_source_trusted for sources of any size: for callers that read piece by piece.
 */
int state_source_content(struct state_run *run, const char *source,
                         const struct source_trust *trust, struct source_content *ret,
                         struct err *err);
/* The hash of such content, piece by piece (core/base/digest.h). */
int state_source_digest(const struct source_content *content, const struct digest *digest,
                        char *ret_hex, struct err *err);
/* Where a source is on this machine; NULL when that is not known before it is read. */
int state_source_path(struct state_run *run, const char *source, const char **ret, struct err *err);
/* The files below a folder of the tree or of the machine, as sorted relative paths. */
int state_source_list(struct state_run *run, const char *source, struct value_list **ret,
                      struct err *err);
/* Render text with facts, settings and `extra` (a map, may be NULL) on top. */
int state_render(struct state_run *run, const char *name, struct str text,
                 const struct value *extra, struct str *ret, struct err *err);
/* Facts and settings of this machine. */
const struct value *state_facts(const struct state_run *run);
/* The facts in Salt's form: `os` is a text. */
const struct value *state_grains(const struct state_run *run);
const struct value *state_settings(const struct state_run *run);
/* Never show this text anywhere. */
void state_secret(struct state_run *run, struct str text);

#endif
