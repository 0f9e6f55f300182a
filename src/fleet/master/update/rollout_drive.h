/*
 * rollout_drive - one rollout that this master drives: rounds of questions, decisions
 * (fleet/update/rollout.h), a stored record, orders.
 *
 *     rollout_drive_new -> rounds, each stored by CAS -> `ended`
 *                       -> rollout_drive_release: given up, for another master to take
 *
 * When another master has changed the record, this one lets go at once: `ended` follows, and
 * whoever keeps the records decides anew.
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

/* Between two rounds: so long for each node that is asked, within bounds. */
#define ROLLOUT_ROUND_NODE (INT64_C(20) * 1000000)
#define ROLLOUT_ROUND_MIN  (INT64_C(250) * 1000000)
#define ROLLOUT_ROUND_MAX  (INT64_C(10) * 1000000000)
/* How long a node has to answer; how often the record shows a living driver. */
#define ROLLOUT_ANSWER_NS (INT64_C(5) * 1000000000)
#define ROLLOUT_BEAT_NS   (INT64_C(10) * 1000000000)
/* A node that makes no progress has failed. */
#define ROLLOUT_NODE_NS (INT64_C(300) * 1000000000)
/* Bytes of a record. */
#define ROLLOUT_RECORD_MAX ((size_t)900 << 10)

struct rollout_drive_options {
    struct master *master;
    const struct update_board *board;
    const char *id; /* copied */
    void (*ended)(void *self, struct rollout_drive *drive);
    void *self;
};

/* From the stored record, which names this master as the driver. NULL: it cannot be read. */
struct rollout_drive *rollout_drive_new(const struct rollout_drive_options *options,
                                        struct str record, uint64_t revision);
const char *rollout_drive_id(const struct rollout_drive *drive);
/* Let another master have it, now. `ended` follows; the master is held until then. */
void rollout_drive_release(struct rollout_drive *drive);

#endif
