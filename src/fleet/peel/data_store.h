/*
 * data store - an agent's data folder: the lock, accepted jobs, returns to deliver; and in memory:
 * compiled plans.
 *
 * One agent for each data folder: two would run every job twice.
 *
 * Threads: the loop's; for others see the ledger and the outbox.
 */
#ifndef FLEET_PEEL_DATA_STORE_H
#define FLEET_PEEL_DATA_STORE_H

#include "core/sys/lock.h"

struct arena;
struct err;
struct ledger;
struct outbox;
struct peel_conf;
struct plan_cache;

/* Returns to deliver, in the data folder. */
#define DATA_STORE_OUTBOX "outbox"

struct data_store {
    struct lock lock;
    const char *baked; /* states installed with the machine */
    struct ledger *ledger;
    struct outbox *outbox;
    int child_registry; /* the list of programs that run (core/sys/child_registry.h) */
    size_t orphans; /* programs of the previous agent that were still running, and were killed */
    struct plan_cache *plan_cache;
};

/* The folder of states of this machine (fleet/peel/source.h); NULL and an error: none. */
const char *data_store_states(struct arena *arena, const struct peel_conf *conf, struct err *err);

void data_store_init(struct data_store *data_store);
/* Texts are in the arena. Call data_store_done even after a failure. */
int data_store_open(struct data_store *data_store, struct arena *arena,
                    const struct peel_conf *conf, struct err *err);
void data_store_done(struct data_store *data_store);

#endif
