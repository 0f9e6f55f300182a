/*
 * update_sweep - removes expired versions, unreferenced binaries and old rollouts, once an hour, on
 * the master that holds the lease.
 *
 * Promoted versions do not expire, and records of their automatic rollouts are kept; so are
 * versions of running rollouts. A binary without a manifest is kept for UPDATE_SWEEP_GRACE: its
 * publisher may be about to write the manifest.
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_UPDATE_UPDATE_SWEEP_H
#define FLEET_MASTER_UPDATE_UPDATE_SWEEP_H

#include <stdint.h>

struct master;
struct update_board;
struct update_sweep;

#define UPDATE_SWEEP_NS    (INT64_C(3600) * 1000000000)
#define UPDATE_SWEEP_GRACE (INT64_C(3600) * 1000000000)
/* Age at which ended rollouts are removed. */
#define UPDATE_SWEEP_ROLLOUTS (INT64_C(90) * 86400 * 1000000000)
#define UPDATE_SWEEP_LEASE    "update-gc"

struct update_sweep *update_sweep_new(struct master *master, const struct update_board *board);
/* Before the connection ends. NULL is fine. */
void update_sweep_stop(struct update_sweep *sweep);
/* After it. NULL is fine. */
void update_sweep_free(struct update_sweep *sweep);

#endif
