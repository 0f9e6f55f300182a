/*
 * fleet_runs - the last run of states of each machine, from the jobs of the last seven days.
 *
 * Heartbeats carry the result of the last run of a peel (commands/cli/fleet/peels.h); they end with
 * the peel, and have no states. The rest is read from the returns of jobs: the newest
 * FLEET_RUNS_JOBS jobs that ran states, newest first, until every machine has what is wanted. Where
 * few machines are missing, their returns are read one by one, not those of everybody.
 *
 * Memory: the arena of the peels. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_RUNS_H
#define COMMANDS_CLI_FLEET_RUNS_H

#include "commands/cli/fleet/peels.h"
#include "fleet/wire/exec.h"

/* Jobs that are looked at, and machines that are few. */
#define FLEET_RUNS_JOBS 64
#define FLEET_RUNS_FEW  64
/* Bytes of returns that are kept; what is beyond has no states. */
#define FLEET_RUNS_MAX ((size_t)512 << 20)

/* The states of one machine. */
struct fleet_runs_item {
    const struct fleet_peel *peel;
    struct lastrun summary; /* of this run */
    struct exec_response response;
};

struct fleet_runs {
    VEC(struct fleet_runs_item) list; /* in the order of the peels */
    bool is_cut;                      /* FLEET_RUNS_MAX was reached */
};

/* Fill in `run` of peels whose heartbeat has none. */
int fleet_runs_fill(struct fleet *fleet, struct fleet_peels *peels, struct err *err);
/* The states of the newest run of each peel that acts or found drift, or of its newest dry run when
 * there is no other. Also does what fleet_runs_fill does. */
int fleet_runs_read(struct fleet *fleet, struct fleet_peels *peels, struct fleet_runs *ret_runs,
                    struct err *err);

/* Summarize a return. False: a master made it up, or it cannot be read. */
bool fleet_runs_summarize(struct arena *arena, const struct exec_return *ret, const char *function,
                          struct fleet_runs_item *ret_run);

#endif
