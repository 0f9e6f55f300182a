/*
 * slots - the binaries of a watched daemon in one folder, and the record of them.
 *
 *     <folder>/zester-peel            what runs; there is one at every moment
 *     <folder>/zester-peel.prev       what ran before
 *     <folder>/zester-peel.staging    what comes
 *     <folder>/zester-peel.slots      the record, framed and checksummed
 *     <folder>/zester-peel.lock       held by the watchdog and by the daemon it runs
 *
 * Each change is one rename in the folder, and is on disk when the call returns.
 *
 * Memory: the arena of slots_init. Threads: one.
 */
#ifndef FLEET_WATCHDOG_SLOTS_H
#define FLEET_WATCHDOG_SLOTS_H

#include "core/base/sha256.h"
#include "core/sys/lock.h"
#include "fleet/update/keeper.h"

struct arena;
struct err;

struct slots {
    const char *folder;
    const char *paths[KEEPER_PLACES];
    const char *record, *lock_file;
    struct lock lock; /* of slots_lock */
};

void slots_init(struct slots *slots, struct arena *arena, const char *folder, const char *name);

/* Makes the folder, and waits until the daemon of a watchdog that was killed has ended. Fails with
 * ERR_BUSY when it does not within SLOTS_WAIT_NS, or another watchdog runs. */
#define SLOTS_WAIT_NS (INT64_C(15) * 1000000000)
int slots_lock(struct slots *slots, struct err *err);

/* A copy of this program becomes current when there is neither a current nor a previous one. */
int slots_seed(const struct slots *slots, const char *program, struct err *err);

/* The hash of a slot; "" when there is nothing in it, or something that cannot be run. */
void slots_hash(const struct slots *slots, enum keeper_place place,
                char ret_hash[static SHA256_HEX_SIZE]);

/* Fails with ERR_NOT_FOUND when there is none, and with the reason when it is damaged. */
int slots_read(const struct slots *slots, struct keeper_record *ret, struct err *err);
int slots_save(const struct slots *slots, const struct keeper_record *record, struct err *err);

/* Staging must have this hash. */
int slots_swap_in(const struct slots *slots, const char *sha256, struct err *err);
int slots_swap_back(const struct slots *slots, struct err *err);
void slots_discard(const struct slots *slots);

#endif
