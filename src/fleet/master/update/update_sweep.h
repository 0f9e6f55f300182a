/*
 * update_sweep - removes versions that have expired, binaries that no version names, and rollouts
 * that ended long ago, once an hour; one master at a time does (a lease).
 *
 * Promoted versions do not expire, and records of their automatic rollouts are kept. Versions of
 * rollouts under way are kept. A binary without a manifest is left alone for UPDATE_SWEEP_GRACE:
 * its publisher may be about to write it.
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
/* Rollouts that ended before this are forgotten. */
#define UPDATE_SWEEP_ROLLOUTS (INT64_C(90) * 86400 * 1000000000)
#define UPDATE_SWEEP_LEASE    "update-gc"

struct update_sweep *update_sweep_new(struct master *master, const struct update_board *board);
/* Before the connection ends. NULL is fine. */
void update_sweep_stop(struct update_sweep *sweep);
/* After it. NULL is fine. */
void update_sweep_free(struct update_sweep *sweep);

#endif
