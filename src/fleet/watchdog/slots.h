/*
 * slots - the binaries of a watched daemon in one folder, and the record of them.
 *
 *     <folder>/zester-peel            current; always present
 *     <folder>/zester-peel.prev       previous
 *     <folder>/zester-peel.staging    next
 *     <folder>/zester-peel.slots      the record, framed and checksummed
 *     <folder>/zester-peel.lock       held by the watchdog and by the daemon it runs
 *
 * Each change is one rename in the folder, on disk when the call returns.
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

/* Creates the folder, and waits for the exit of a killed watchdog's daemon. Fails with ERR_BUSY
 * after SLOTS_WAIT_NS, or if another watchdog runs. */
#define SLOTS_WAIT_NS (INT64_C(15) * 1000000000)
int slots_lock(struct slots *slots, struct err *err);

/* Makes a copy of this program current if there is neither a current nor a previous one. */
int slots_seed(const struct slots *slots, const char *program, struct err *err);

/* The hash of a slot; "": empty or not executable. */
void slots_hash(const struct slots *slots, enum keeper_place place,
                char ret_hash[static SHA256_HEX_SIZE]);

/* Fails with ERR_NOT_FOUND without a record, and with the reason for a damaged one. */
int slots_read(const struct slots *slots, struct keeper_record *ret, struct err *err);
int slots_save(const struct slots *slots, const struct keeper_record *record, struct err *err);

/* Staging must have this hash. */
int slots_swap_in(const struct slots *slots, const char *sha256, struct err *err);
int slots_swap_back(const struct slots *slots, struct err *err);
void slots_discard(const struct slots *slots);

#endif
