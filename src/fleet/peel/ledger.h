/*
 * ledger - the jobs that this agent has accepted, so that none runs twice.
 *
 * A file of records, one for each acceptance: the id of a job and its epoch, which is the revision
 * of the job's record. A request runs only when its epoch is higher than every one that was
 * accepted for that job, also after a restart; the record is written before the job is
 * acknowledged. A second record says that the job has begun, a third that it has its return. Jobs
 * that were accepted and have none when the file is opened were cut off: their owner answers for
 * them.
 *
 * The last LEDGER_JOBS jobs are known; the file is written anew when it holds twice as many.
 * Damage costs the damaged records alone.
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
/* Of the id of a job. */
#define LEDGER_JID_MAX 128

enum ledger_verdict {
    LEDGER_NEW,
    LEDGER_AGAIN, /* the same epoch was accepted */
    LEDGER_OLD,   /* a higher one was */
};

/* `ret_damaged`: records were lost. */
struct ledger *ledger_open(const char *path, bool *ret_damaged, struct err *err);
/* NULL is fine. */
void ledger_free(struct ledger *ledger);

/* May it run? LEDGER_NEW takes it: a second call answers LEDGER_AGAIN. Nothing is written. */
enum ledger_verdict ledger_take(struct ledger *ledger, const char *jid, uint64_t epoch);

/* Is it one of the last LEDGER_JOBS? */
bool ledger_has(struct ledger *ledger, const char *jid);

/* Write down what was taken: it is known after a restart of the agent. */
int ledger_accept(struct ledger *ledger, const char *jid, uint64_t epoch, struct err *err);
/* It may change something from now on; with `sync` all of this is on disk when it returns. */
int ledger_begin(struct ledger *ledger, const char *jid, bool sync, struct err *err);
/* Its return is safe. */
int ledger_finish(struct ledger *ledger, const char *jid, struct err *err);

/* Jobs without a return, oldest first, as they were when the file was opened, and whether they had
 * begun. `fn` may finish them. */
typedef void ledger_open_fn(void *self, const char *jid, uint64_t epoch, bool begun);
void ledger_each_open(struct ledger *ledger, ledger_open_fn *fn, void *self);

#endif
