/*
 * rollout - how a job goes through its targets: waves, how many may fail, a pause and a gate
 * between two waves, and what is reverted when too many fail.
 *
 * It is said in texts of the job's metadata (JOB_BATCH, JOB_PAUSE, JOB_GATE, JOB_REVERT), so that
 * it is on record and whichever master has the job goes on with it. A gate is a function that has
 * to succeed on the peels of a wave before the next one begins. What a master does for a rollout,
 * gates and the revert, are jobs with ids that follow from it: a master that takes it over finds
 * them.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_JOBS_ROLLOUT_H
#define FLEET_JOBS_ROLLOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/wire/event.h"

struct err;
struct job;

/* In the metadata, of masters. */
#define ROLLOUT_STOPPED "stopped"    /* of the rollout: why it was */
#define ROLLOUT_JOB     "revert_job" /* the same: the job that reverts it */
#define ROLLOUT_OF      "rollout"    /* of a gate and a revert: whose */

#define ROLLOUT_PAUSE_MAX INT64_C(86400)
#define ROLLOUT_GATE_MAX  1024
#define ROLLOUT_GATE_NS   (INT64_C(60) * 1000000000)
/* The function that reverts. */
#define ROLLOUT_FUNCTION "state.revert"

enum rollout_revert {
    ROLLOUT_KEEP,
    ROLLOUT_WAVE, /* what the job has changed in the wave that failed */
    ROLLOUT_ALL,  /* what it has changed in all waves */
};
/* NULL and "" are ROLLOUT_KEEP. False: no such word. */
bool rollout_revert_find(const char *word, enum rollout_revert *ret);

struct rollout {
    size_t batch;        /* 0: all at once */
    size_t failures_max; /* SIZE_MAX: any number */
    bool has_waves;
    int64_t pause;                           /* nanoseconds */
    struct str gate_function, gate_argument; /* "": none */
    enum rollout_revert revert;
};

/* What the metadata says; texts that make no sense count as if they were not there. */
void rollout_read(const struct job *job, struct rollout *ret);
/* Is it a function whose runs can be reverted? */
bool rollout_runs_states(const char *function);
/* Do they make sense? Fails with ERR_INVALID or ERR_LIMIT. */
int rollout_check(const struct job *job, struct err *err);
/* The whole time that it may take, in nanoseconds: all waves, gates and pauses, and the time for
 * which it is kept for absent peels. `timeout` is that of a wave. */
int64_t rollout_time(const struct job *job, int64_t timeout);

/* The jobs of a rollout. */
void rollout_gate_id(const char *jid, size_t wave, char id[static EVENT_JID_SIZE]);
void rollout_revert_id(const char *jid, char id[static EVENT_JID_SIZE]);
/* Is it a key that masters add to the metadata of a job that they have? */
bool rollout_is_remark(const char *key);

#endif
