/*
 * fleet_job - options of a job, as metadata: batches, per-peel limits, windows.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_VIEW_JOB_H
#define FLEET_VIEW_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;
struct job;

/* "5", or "20%" of the targets. */
int fleet_read_batch(const char *text, size_t targets, size_t *ret_size, struct err *err);
/* Sets one text in a job's metadata. */
void fleet_job_note(struct arena *arena, struct job *job, const char *key, const char *text);
/* Runs the job in waves. Returns the number of waves. */
int64_t fleet_note_batch(struct arena *arena, struct job *job, size_t size, int64_t max_failures);

/* The machines to revert when states fail. */
enum fleet_revert {
    FLEET_REVERT_NONE,
    FLEET_REVERT_MACHINE, /* each failed peel reverts itself */
    FLEET_REVERT_WAVE,    /* also the wave if too many fail */
    FLEET_REVERT_ALL,     /* also all waves if too many fail */
};
#define FLEET_REVERT_WORDS "none|machine|wave|all"

/* Options for the waves of a job (fleet/jobs/rollout.h). */
struct fleet_rollout {
    int64_t pause;    /* nanoseconds; 0: none */
    const char *gate; /* NULL: none */
    enum fleet_revert revert;
};
void fleet_note_rollout(struct arena *arena, struct job *job, const struct fleet_rollout *rollout);

/* Options for each peel. */
struct fleet_limits {
    bool force_window;
    int64_t node_timeout; /* nanoseconds; 0: none */
};

/* Stores them in the job. */
void fleet_note_limits(struct arena *arena, struct job *job, const struct fleet_limits *limits);
/* The job timeout for a per-peel limit, with time added for peels that are slow to acknowledge or
 * end. */
int64_t fleet_limits_timeout(const struct fleet_limits *limits);
/* Queues it this long for absent peels. */
void fleet_note_queue(struct arena *arena, struct job *job, int64_t ns);

#endif
