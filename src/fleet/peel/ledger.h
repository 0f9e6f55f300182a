/*
 * ledger - the jobs that this agent has accepted, so that none runs twice.
 *
 * A file of records, one for each acceptance: the id of a job and its epoch, which is the revision
 * of the job's record. A request runs only if its epoch is higher than every accepted one of that
 * job, even after a restart; the record is written before the job is acknowledged. A second record
 * says that the job has begun, a third that it has its return. Jobs without a return when the file
 * is opened were interrupted: the owner of the ledger answers for them.
 *
 * It keeps the last LEDGER_JOBS jobs; the file is rewritten when it holds twice as many. Damage
 * affects only the damaged records.
 *
 *     ledger_open -> { ledger_take, ledger_accept, ledger_begin, ledger_finish }... -> ledger_free
 *
 * Threads: any.
 */
#ifndef FLEET_PEEL_LEDGER_H
#define FLEET_PEEL_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct ledger;

#define LEDGER_FILE "peel-dedup.records"
#define LEDGER_JOBS 4096
/* Bytes of a job id. */
#define LEDGER_JID_MAX 128

enum ledger_verdict {
    LEDGER_NEW,
    LEDGER_AGAIN, /* the same epoch was accepted */
    LEDGER_OLD,   /* a higher epoch was accepted */
};

/* `ret_damaged`: records were lost. */
struct ledger *ledger_open(const char *path, bool *ret_damaged, struct err *err);
/* NULL is fine. */
void ledger_free(struct ledger *ledger);

/* May it run? After LEDGER_NEW, a second call returns LEDGER_AGAIN. Writes nothing. */
enum ledger_verdict ledger_take(struct ledger *ledger, const char *jid, uint64_t epoch);

/* Is it one of the last LEDGER_JOBS? */
bool ledger_has(struct ledger *ledger, const char *jid);

/* Records a taken job durably, across restarts of the agent. */
int ledger_accept(struct ledger *ledger, const char *jid, uint64_t epoch, struct err *err);
/* The job may change something from now on; with `sync`, all of this is on disk afterwards. */
int ledger_begin(struct ledger *ledger, const char *jid, bool sync, struct err *err);
/* Its return is stored. */
int ledger_finish(struct ledger *ledger, const char *jid, struct err *err);

/* Calls `fn` for jobs that had no return when the file was opened, oldest first, and whether they
 * had begun. `fn` may finish them. */
typedef void ledger_open_fn(void *self, const char *jid, uint64_t epoch, bool begun);
void ledger_each_open(struct ledger *ledger, ledger_open_fn *fn, void *self);

#endif
