/*
 * module - one kind of state (`file.managed`) or one function (`disk.usage`),
 * whole in one file of src/modules/.
 *
 * A state module compares and changes:
 *
 *     check   records differences (state_differs, state_diff) and touches nothing; when
 *             forced in a dry run, it also reports what the forced apply would do;
 *     apply   runs when there are differences, or when forced; every change of the
 *             file system goes through states/undo/change.h, which keeps the before-image;
 *     revert  undoes what apply noted with state_note; files come back without it. It
 *             counts as a change unless it calls state_unchanged.
 *
 * A function module answers: `call` gives a value. A module may be both; the
 * command line then uses the state, unless MODULE_ASKS is set, a template the function.
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
    MODULE_ALWAYS = 1 << 0,  /* runs every time (cmd.run, test.ping) */
    MODULE_HIDDEN = 1 << 1,  /* not in the index of the manual */
    MODULE_TREE = 1 << 2,    /* owns the tree below its path (states/state/managed.h) */
    MODULE_REMOVES = 1 << 3, /* its path must not exist */
    MODULE_ACTS = 1 << 4,    /* a function that changes the machine: no dry run */
    MODULE_NO_UNDO = 1 << 5, /* leaves no images; cannot be reverted */
    MODULE_WHOLE = 1 << 6,   /* decides the whole content of its path (states/compile/contest.h) */
    MODULE_LOCAL = 1 << 7,   /* touches only its path or packages (states/compile/touch.h) */
    MODULE_EXACT = 1 << 8, /* unknown parameters are mistakes in Salt files, too: ignoring one would
                              change the meaning */
    MODULE_CLEANS = 1 << 9,       /* removes unmanaged entries */
    MODULE_FILES_FIRST = 1 << 10, /* files are restored before `revert` is called */
    MODULE_STEP = 1 << 11,        /* a job for other machines; changes nothing on this one */
    MODULE_IDLE = 1 << 12,        /* never changes anything */
    MODULE_FACTS = 1 << 13,       /* changes facts: collect them again afterwards */
    MODULE_ASKS = 1 << 14,        /* its name is a question in Salt: called by name it answers, and
                                     state.single applies it */
    MODULE_DRY_REVERT = 1 << 15,  /* `revert` only says what it would do when `test` is set */
    MODULE_EDITS = 1 << 16,       /* needs what is at a path already (states/compile/implied.h) */
};

struct module {
    const char *name;    /* "file.managed" */
    const char *summary; /* one line, lower case, no full stop */
    const char *details; /* more, for the manual; NULL */
    const char *example; /* arguments as YAML that work in a scratch root; ROOT stands for it */
    const struct param *params;
    size_t args_size;
    const char *lock; /* states with the same lock name run one at a time; or NULL */
    unsigned flags;

    /* Checks beyond the parameter table; or NULL. `where` is the body, for positions. */
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
/* Called by its name, on a command line or in a job: is a state applied? Else a function answers.
 */
bool module_applies(const struct module *module);
/* The parameter that names a single state's subject, when `given` has no value for it: the command
 * line must supply it as a word. An empty text counts as missing. NULL: nothing is missing. */
const struct param *module_missing(const struct module *module, const struct value *given);
/* The nearest name, for "did you mean"; NULL when none is close. */
const char *module_suggest(struct str name);
/* Does any module belong to this family? */
bool module_has_family(struct str descendants);
/* All names in the manual, each after a blank. */
void module_add_names(struct buf *out);

/* A state of the current level. */
struct state_peer {
    const char *name;
    const struct module *module;
    const void *args;
};

/* States of a level that share a lock, so that one may do the work of all (a single package manager
 * run). States that might not run (guards, prereq, outputs) are left out. The holder of the lock
 * may change it. */
struct state_group {
    VEC(struct state_peer) peers;
    struct map left; /* by state name: data left by another state */
    struct arena arena;
    /* Another state is about to change the state of this name. */
    int (*begin)(void *user, const char *name, struct err *err);
    void *user;
};

/* One state while it runs. Modules read the first part and call the functions below. */
/* A difference found by check, worded as a completed change. */
struct state_report {
    struct buf text;
    size_t last; /* start of the last sentence */
};

struct state_run {
    struct arena *arena;       /* scratch for this state in this run */
    const char *name;          /* "file.managed:/etc/motd" */
    bool test;                 /* dry run: apply is never called */
    bool forced;               /* apply without check, because of watch or prereq */
    bool salt;                 /* from a Salt file: use Salt's meaning */
    bool secret;               /* has secret arguments: contents are not shown */
    struct state_host *host;   /* files, templates, commands from the caller */
    struct state_group *group; /* states with its lock, itself included; NULL: none, or a dry run */
    const char *runas;         /* default user of its programs; NULL: our own */
    const mode_t *umask; /* for new files and folders (NULL: 022) and commands (NULL: our own) */
    const struct managed *managed; /* paths of all states of the run, or NULL */

    /* Output of the module so far; read by the runner. */
    bool differs;
    bool acts;                   /* nothing differs, but there is something to do */
    bool unchanged;              /* apply said so */
    bool destroys;               /* dry revert: it would remove an account, a package or data */
    bool untouched;              /* should apply fail, it has changed nothing that it has noted */
    bool cleans_up;              /* what it does now is done after a cancel, too */
    struct buf text;             /* the human-readable differences */
    struct state_report *done;   /* the same in the words of what was done; NULL: nobody asks */
    struct sha256 *plan_binding; /* of what state_bind was given; NULL: nobody asks */
    struct value_map *details;   /* text to text */
    const struct value *value;   /* state_return */
    struct value_map *notes;     /* written by apply, read by revert */
    struct change *change;       /* its access to states/undo/change.h; NULL: read-only */
};

/* --- reports of check ------------------------------------------------------- */

/* A sentence: "file /etc/motd does not exist". Marks the state as differing. */
void state_differs(struct state_run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Replaces the last sentence in the report of a run that made the change: "created /etc/motd". */
void state_made(struct state_run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same for one attribute: "mode: 0644 -> 0600". NULL: not there. */
void state_diff(struct state_run *run, const char *what, const char *old, const char *now);
/* File content as a unified diff. A NULL view: no file. Binary, large or secret content is only
 * summarised. */
void state_diff_content(struct state_run *run, const char *path, struct str old, struct str now);
/* Bind a change that the report may not show in full: a run bound to a dry run
 * (states/run/plan_binding.h) starts only if it matches. A NULL view: not there. */
void state_bind(struct state_run *run, struct str bytes);
/* The same for a path: its kind, and its content or link target. */
int state_bind_path(struct state_run *run, const char *path, struct err *err);
/* Apply must run, but changes nothing: it calls state_unchanged. */
void state_acts(struct state_run *run);
/* A remark that is not a difference: "already installed". */
void state_say(struct state_run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* --- reports of apply ------------------------------------------------------- */

/* Add to `details`; texts are copied. */
void state_detail(struct state_run *run, const char *key, const char *fmt, ...) PRINTF_LIKE(3, 4);
void state_detail_value(struct state_run *run, const char *key, struct value value);
/* What the state returns when it is called as a function, where `details` have it as a text. */
void state_return(struct state_run *run, struct value value);
/* Store a note for revert; on disk before this returns. */
int state_note(struct state_run *run, const char *key, struct value value, struct err *err);
/* The note that apply stored under `key`, or NULL. For revert. */
const struct value *state_noted(const struct state_run *run, const char *key);
/* Report that apply found nothing to do. */
void state_unchanged(struct state_run *run);
/* Report that the noted changes did not happen: if apply fails, nothing has changed. */
void state_untouched(struct state_run *run);
/* The next work of apply is also done for this state of its group. */
int state_acts_for(struct state_run *run, const char *name, struct err *err);

/* --- services for modules ----------------------------------------------------- */

/* Run a command with bounded output; a cancel kills its process tree. */
int state_command(struct state_run *run, const struct process_spec *spec, int64_t timeout_ns,
                  struct process_result *ret, struct err *err);

/* Read a source: an absolute path, a path of the state tree (relative, salt://, zester://), or
 * http(s):// with a hash ("sha256=..."; NULL: none). Fails with ERR_NOT_FOUND. */
int state_source(struct state_run *run, const char *source, const char *hash, struct str *ret,
                 struct err *err);
/* How a source is verified. All zero: a file of this machine, trusted as it is. */
struct source_trust {
    const char *hash; /* the hash, or a file of checksums (states/state/source_hash.h); or NULL */
    const char *name; /* its name in that file; NULL: the source's own */
    bool skip_verify; /* accept it unverified */
};
int state_source_trusted(struct state_run *run, const char *source,
                         const struct source_trust *trust, struct str *ret, struct err *err);
/* Content of a source. Larger ones are not read into memory, but stay in their file. */
#define SOURCE_HELD_MAX ((size_t)1 << 20)
struct source_content {
    struct str text;  /* a NULL view: see `file` */
    const char *file; /* a local file that no other user can change; NULL: see `text` */
    uint64_t size;
};
/* As state_source_trusted, for sources of any size that are read piece by piece. */
int state_source_content(struct state_run *run, const char *source,
                         const struct source_trust *trust, struct source_content *ret,
                         struct err *err);
/* The hash of such content, piece by piece (core/base/digest.h). */
int state_source_digest(const struct source_content *content, const struct digest *digest,
                        char *ret_hex, struct err *err);
/* The local path of a source; NULL when it is only known after reading. */
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
/* Mask this text in all output from here on. */
void state_secret(struct state_run *run, struct str text);

#endif
