/*
 * rollout_drive - drives one rollout in rounds: ask the nodes, decide (fleet/update/rollout.h),
 * store the record, send commands.
 *
 *     rollout_drive_new -> rounds, each stored by CAS -> `ended`
 *                       -> rollout_drive_release: given up, for another master to take
 *
 * When another master has changed the record, this one stops at once: `ended` follows, and the
 * owner of the drive decides anew.
 *
 * Memory: freed after `ended`. Threads: the loop's.
 */
#ifndef FLEET_MASTER_UPDATE_ROLLOUT_DRIVE_H
#define FLEET_MASTER_UPDATE_ROLLOUT_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct master;
struct rollout_drive;
struct update_board;

/* Interval between rounds: this long per node, within bounds. */
#define ROLLOUT_ROUND_NODE (INT64_C(20) * 1000000)
#define ROLLOUT_ROUND_MIN  (INT64_C(250) * 1000000)
#define ROLLOUT_ROUND_MAX  (INT64_C(10) * 1000000000)
/* The time limit for answers; how often the record is refreshed. */
#define ROLLOUT_ANSWER_NS (INT64_C(5) * 1000000000)
#define ROLLOUT_BEAT_NS   (INT64_C(10) * 1000000000)
/* A node without progress for this long has failed. */
#define ROLLOUT_NODE_NS (INT64_C(300) * 1000000000)
/* Maximum size of a record. */
#define ROLLOUT_RECORD_MAX ((size_t)900 << 10)

struct rollout_drive_options {
    struct master *master;
    const struct update_board *board;
    const char *id; /* copied */
    void (*ended)(void *self, struct rollout_drive *drive);
    void *self;
};

/* From the stored record, with this master as the driver. NULL: malformed. */
struct rollout_drive *rollout_drive_new(const struct rollout_drive_options *options,
                                        struct str record, uint64_t revision);
const char *rollout_drive_id(const struct rollout_drive *drive);
/* Release it to another master now. `ended` follows; the master is held until then. */
void rollout_drive_release(struct rollout_drive *drive);

#endif
