/*
 * owed - reactions that are due but have not happened yet.
 *
 * A state that watches another owes a reaction (a restart, a rebuild) when that one changes.
 * Before a watched state is applied, a debt is recorded for each of its watchers; if the state
 * changes nothing, the debts of this run are dropped. A debt is settled when the watcher has
 * reacted, or need not. If the watcher fails, is skipped after a failure, or the machine stops in
 * between, the debt stays on disk, and a later run settles it even if nothing changes.
 *
 *     owed_open -> owed_adopt -> { owed_find, owed_expect, owed_drop, owed_settle }... -> owed_free
 *
 * A debt belongs to one watcher and one source. Two files may declare states of the same name:
 * only a state of the file that made the debt settles it, however that file came into the run. If
 * that file is gone or unknown, the names of the watcher and its source decide.
 *
 * Each debt is one small file in <data_dir>/owed, named by the SHA-256 of the three: one frame
 * with a record (core/data/record.h). Older versions recorded no state file and used the state
 * name alone. A damaged debt stays due: its file name identifies it. Drafts of killed runs are not
 * debts; the next run removes them.
 *
 * Threads: any.
 */
#ifndef STATES_RUN_OWED_H
#define STATES_RUN_OWED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/params.h"

struct arena;
struct err;
struct owed;
struct record_type;

struct owed_debt {
    const char *state;       /* the state that owes a reaction */
    struct param_strs files; /* state files that declare it; none: written by an older version */
    const char *source;      /* the changed state; "": unknown */
    const char *run;         /* the run that changed it */
    int64_t since;           /* seconds since 1970 */
};

/* The stored and displayed form of a debt. */
extern const struct record_type owed_debt_type;

/* Handling of drafts left by killed runs: only the holder of the run lock removes them. */
enum owed_drafts { OWED_LEAVE_DRAFTS, OWED_REMOVE_DRAFTS };

/* Open the debts in `data_dir` for the run `run_id`. */
struct owed *owed_open(const char *data_dir, const char *run_id, enum owed_drafts drafts,
                       struct err *err);
/* NULL is fine. */
void owed_free(struct owed *owed);
/* Assign debts whose files are gone to states of the same name that watch the same source. */
void owed_adopt(struct owed *owed, bool (*has_file)(const void *user, const char *file),
                const void *user);

/* A watcher. */
struct owed_state {
    const char *name;
    const struct param_strs *files; /* the files that declare it */
    struct param_strs sources;      /* the states it watches */
};
struct owed_found {
    VEC(const struct owed_debt *) list;
};

/* Is there any debt of an earlier run? Usually there is none. */
bool owed_has_any(const struct owed *owed);
/* The debts of a state from earlier runs, also for sources it no longer watches. Valid until
 * settled. */
void owed_find(struct owed *owed, struct arena *arena, const struct owed_state *state,
               struct owed_found *ret_found);
/* Record a debt of `state`, because `source` is about to change. On disk when this returns. */
int owed_expect(struct owed *owed, const struct owed_state *state, const char *source,
                struct err *err);
/* Drop the debt of this run, because `source` did not change. Earlier debts stay. */
int owed_drop(struct owed *owed, const struct owed_state *state, const char *source,
              struct err *err);
/* Settle all debts of the state except those to the sources in `but` (may be NULL). No debt is
 * fine. */
int owed_settle(struct owed *owed, const struct owed_state *state, const struct param_strs *but,
                struct err *err);

/* A damaged debt file. */
struct owed_damage {
    const char *file; /* its name: 64 digits */
    const char *why;
};

struct owed_debts {
    VEC(struct owed_debt) list; /* by state, file and source */
    VEC(struct owed_damage) damaged;
    VEC(const char *) drafts; /* paths */
};
int owed_list(struct arena *arena, const char *data_dir, struct owed_debts *ret_debts,
              struct err *err);
/* "cmd.run:reload  since run ..., web: file.managed:conf had changed". */
const char *owed_describe(struct arena *arena, const struct owed_debt *debt);
/* Forget the debts of a state: "cmd.run:reload", or "web:cmd.run:reload" if several files declare
 * that name (else ERR_INVALID); or the damaged debt with that file name. Sets `ret_found` if there
 * was one. */
int owed_waive(const char *data_dir, const char *state, bool *ret_found, struct err *err);

#endif
