/*
 * owed - reactions that were due and did not happen yet.
 *
 * A state that watches another owes a reaction when that one changes: a restart, a
 * rebuild. Before a watched state is applied, those that watch it are written down
 * here; if it turns out to have changed nothing, what this run wrote down is dropped.
 * A debt is crossed out when the state has reacted, or need not. If it fails, is skipped
 * by a failure, or the machine stops in between, the debt stays on disk, and a later run
 * in which nothing changes pays it.
 *
 *     owed_open -> owed_adopt -> { owed_find, owed_expect, owed_drop, owed_settle }... -> owed_free
 *
 * A debt is that of one state to one other. Two files may each declare a state of the same name:
 * only a state of the file that made the debt pays it, however that file came into the run. If that
 * file is gone or not known, the name of the state and what it watches decide.
 *
 * One small file a debt, in <data_dir>/owed, called by the SHA-256 of the three: one frame with a
 * record (core/data/record.h). Those of older versions know no file of states and are called by the
 * state alone. A debt whose file is damaged stays due: the name
 * of the file says whose it is. Drafts that a killed run left there are not debts, and the next run
 * removes them.
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
    struct param_strs files; /* of states that declare it; none: an older version wrote the debt */
    const char *source;      /* what had changed; "": nobody knows */
    const char *run;         /* the run in which it had */
    int64_t since;           /* seconds since 1970 */
};

/* How a debt is stored and shown. */
extern const struct record_type owed_debt_type;

/* What to do with drafts that killed runs left: the holder of the lock of runs removes them. */
enum owed_drafts { OWED_LEAVE_DRAFTS, OWED_REMOVE_DRAFTS };

/* The debts in `data_dir`, as the run `run_id` sees them. */
struct owed *owed_open(const char *data_dir, const char *run_id, enum owed_drafts drafts,
                       struct err *err);
/* NULL is fine. */
void owed_free(struct owed *owed);
/* Debts whose files are all gone are those of states of the same name that watch the same. */
void owed_adopt(struct owed *owed, bool (*has_file)(const void *user, const char *file),
                const void *user);

/* A state that reacts to others. */
struct owed_state {
    const char *name;
    const struct param_strs *files; /* that declare it */
    struct param_strs sources;      /* what it watches */
};
struct owed_found {
    VEC(const struct owed_debt *) list;
};

/* Is there any debt of an earlier run? Most runs have none to look for. */
bool owed_has_any(const struct owed *owed);
/* What the state owes from earlier runs, also for what it no longer watches. Valid until it is
 * settled. */
void owed_find(struct owed *owed, struct arena *arena, const struct owed_state *state,
               struct owed_found *ret_found);
/* `source` is about to change: `state` will owe a reaction. On disk when this returns. */
int owed_expect(struct owed *owed, const struct owed_state *state, const char *source,
                struct err *err);
/* `source` did not change in this run after all. What was due before stays. */
int owed_drop(struct owed *owed, const struct owed_state *state, const char *source,
              struct err *err);
/* All of it is paid, or not needed, but what it owes to those in `but`; NULL: nobody. No debt is
 * fine. */
int owed_settle(struct owed *owed, const struct owed_state *state, const struct param_strs *but,
                struct err *err);

/* A file that is damaged. */
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
/* Forget what a state owes: "cmd.run:reload", or "web:cmd.run:reload" where several files declare
 * one of that name, without which that is ERR_INVALID; or the damaged debt in a file of that name.
 * `ret_found` is set if there was one. */
int owed_waive(const char *data_dir, const char *state, bool *ret_found, struct err *err);

#endif
