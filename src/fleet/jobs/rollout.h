/*
 * rollout - how a job proceeds through its targets: waves, permitted failures, a pause and a gate
 * between waves, and what to revert after too many failures.
 *
 * It is stored in the job's metadata (JOB_BATCH, JOB_PAUSE, JOB_GATE, JOB_REVERT), so any master
 * that owns the job can continue it. A gate is a function that must succeed on the peels of a wave
 * before the next one begins. Gates and the revert are jobs with derived ids, so a master that
 * takes over finds them.
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

/* Metadata keys set by masters. */
#define ROLLOUT_STOPPED "stopped"    /* of the rollout: why it stopped */
#define ROLLOUT_JOB     "revert_job" /* of the rollout: the job that reverts it */
#define ROLLOUT_OF      "rollout"    /* of a gate or a revert: its rollout */

#define ROLLOUT_PAUSE_MAX INT64_C(86400)
#define ROLLOUT_GATE_MAX  1024
#define ROLLOUT_GATE_NS   (INT64_C(60) * 1000000000)
/* The function that reverts. */
#define ROLLOUT_FUNCTION "state.revert"

enum rollout_revert {
    ROLLOUT_KEEP,
    ROLLOUT_WAVE, /* the job's changes in the failed wave */
    ROLLOUT_ALL,  /* the job's changes in all waves */
};
/* NULL and "" are ROLLOUT_KEEP. False: unknown word. */
bool rollout_revert_find(const char *word, enum rollout_revert *ret);

struct rollout {
    size_t batch;        /* 0: all at once */
    size_t failures_max; /* SIZE_MAX: any number */
    bool has_waves;
    int64_t pause;                           /* nanoseconds */
    struct str gate_function, gate_argument; /* "": none */
    enum rollout_revert revert;
};

/* Reads the metadata; ignores invalid texts. */
void rollout_read(const struct job *job, struct rollout *ret);
/* Is it a function whose runs can be reverted? */
bool rollout_runs_states(const char *function);
/* Checks the metadata. Fails with ERR_INVALID or ERR_LIMIT. */
int rollout_check(const struct job *job, struct err *err);
/* The maximum duration in nanoseconds: all waves, gates and pauses, and the queue time for absent
 * peels. `timeout` is that of a wave. */
int64_t rollout_time(const struct job *job, int64_t timeout);

/* The jobs of a rollout. */
void rollout_gate_id(const char *jid, size_t wave, char id[static EVENT_JID_SIZE]);
void rollout_revert_id(const char *jid, char id[static EVENT_JID_SIZE]);
/* Is it a metadata key that masters add to their jobs? */
bool rollout_is_remark(const char *key);

#endif
