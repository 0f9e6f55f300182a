/*
 * keep - what an agent holds in its data folder: the lock, accepted jobs, returns to deliver; and
 * in memory: plans that it has compiled.
 *
 * One agent for each data folder: two would run every job twice.
 *
 * Threads: the loop's; the ledger and the outbox say who else may use them.
 */
#ifndef FLEET_PEEL_KEEP_H
#define FLEET_PEEL_KEEP_H

#include "core/sys/lock.h"

struct arena;
struct err;
struct ledger;
struct outbox;
struct peel_conf;
struct shelf;

struct keep {
    struct lock lock;
    const char *baked; /* states that came with the machine */
    struct ledger *ledger;
    struct outbox *outbox;
    int births;     /* the list of programs that run (core/sys/births.h) */
    size_t orphans; /* programs of the agent before that still ran, and were killed */
    struct shelf *shelf;
};

void keep_init(struct keep *keep);
/* Texts are in the arena. After a failure keep_done is still due. */
int keep_open(struct keep *keep, struct arena *arena, const struct peel_conf *conf,
              struct err *err);
void keep_done(struct keep *keep);

#endif
