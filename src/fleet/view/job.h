/*
 * fleet_job - what a job is asked to heed, as metadata: batches, limits of peels, windows.
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
/* Metadata of a job: one text. */
void fleet_job_note(struct arena *arena, struct job *job, const char *key, const char *text);
/* Let it go through its targets in waves. Returns how many. */
int64_t fleet_note_batch(struct arena *arena, struct job *job, size_t size, int64_t max_failures);

/* What is reverted when states fail. */
enum fleet_revert {
    FLEET_REVERT_NONE,
    FLEET_REVERT_MACHINE, /* each peel where one fails, by itself */
    FLEET_REVERT_WAVE,    /* that, and the wave when too many fail */
    FLEET_REVERT_ALL,     /* that, and all waves when too many fail */
};
#define FLEET_REVERT_WORDS "none|machine|wave|all"

/* Between the waves of a job, and when they fail (fleet/jobs/rollout.h). */
struct fleet_rollout {
    int64_t pause;    /* nanoseconds; 0: none */
    const char *gate; /* NULL: none */
    enum fleet_revert revert;
};
void fleet_note_rollout(struct arena *arena, struct job *job, const struct fleet_rollout *rollout);

/* What each peel is asked to heed, or not to. */
struct fleet_limits {
    bool force_window;
    int64_t node_timeout; /* nanoseconds; 0: none */
};

/* Part of the job from now on. */
void fleet_note_limits(struct arena *arena, struct job *job, const struct fleet_limits *limits);
/* The time of a job whose peels have that long each: it has a while more for those that are slow
 * to acknowledge or to end. */
int64_t fleet_limits_timeout(const struct fleet_limits *limits);
/* Keep it this long for absent peels. */
void fleet_note_queue(struct arena *arena, struct job *job, int64_t ns);

#endif
