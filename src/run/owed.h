/*
 * owed - reactions that were due and did not happen yet.
 *
 * A state that watches another owes a reaction when that one changes: a restart, a
 * rebuild. Before a watched state is applied, those that watch it are written down
 * here; each is crossed out when it has reacted, or turned out not to be needed. If
 * it fails, is skipped by a failure, or the machine stops in between, the debt stays
 * on disk, and a later run in which nothing changes pays it.
 *
 *     owed_open -> { owed_find, owed_expect, owed_settle }... -> owed_free
 *
 * One small file a debt, in <data_dir>/owed, called by the SHA-256 of the name of the state: one
 * frame with a record (data/record.h), or the bare record of an older version. A debt whose file is
 * damaged stays due: the name of the file is that of its state. Drafts that
 * a killed run left there are not debts, and the next run removes them.
 *
 * Threads: any.
 */
#ifndef RUN_OWED_H
#define RUN_OWED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct arena;
struct err;
struct owed;
struct record_type;

struct owed_debt {
    const char *state;  /* the state that owes a reaction */
    const char *source; /* what had changed */
    const char *run;    /* the run in which it had */
    int64_t since;      /* seconds since 1970 */
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

/* What the state owes from earlier runs; NULL: nothing. Valid until it is settled. */
const struct owed_debt *owed_find(struct owed *owed, const char *state);
/* `source` is about to change: `state` will owe a reaction. On disk when this returns. */
int owed_expect(struct owed *owed, const char *state, const char *source, struct err *err);
/* Paid, or not needed. No debt is fine. */
int owed_settle(struct owed *owed, const char *state, struct err *err);

/* A file that is damaged. */
struct owed_damage {
    const char *file; /* its name: 64 digits */
    const char *why;
};

struct owed_debts {
    VEC(struct owed_debt) list; /* by name of the state */
    VEC(struct owed_damage) damaged;
    VEC(const char *) drafts; /* paths */
};
int owed_list(struct arena *arena, const char *data_dir, struct owed_debts *ret_debts,
              struct err *err);
/* Forget the debt of a state, or the damaged one in a file of that name. `ret_found` is set if
 * there was one. */
int owed_waive(const char *data_dir, const char *state, bool *ret_found, struct err *err);

#endif
