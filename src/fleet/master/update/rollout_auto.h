/*
 * rollout_auto - starts rollouts of promoted versions (fleet/update/auto_rollout.h), at intervals.
 *
 * Every master decides for itself; they all derive the same rollout id, so it is created once. Its
 * driver is chosen as for any other rollout.
 *
 *     rollout_auto_new -> { rollout_auto_note_switch }... -> stop -> free
 *
 * Threads: the loop's.
 */
#ifndef FLEET_MASTER_UPDATE_ROLLOUT_AUTO_H
#define FLEET_MASTER_UPDATE_ROLLOUT_AUTO_H

struct master;
struct rollout_auto;
struct update_board;

struct rollout_auto *rollout_auto_new(struct master *master, const struct update_board *board);
/* The fleet's switch changed: writes one audit line per change. */
void rollout_auto_note_switch(struct rollout_auto *rollout_auto);
/* Before the connection ends. NULL is fine. */
void rollout_auto_stop(struct rollout_auto *rollout_auto);
/* After it. NULL is fine. */
void rollout_auto_free(struct rollout_auto *rollout_auto);

#endif
