/*
 * sampler - samples the processes of services: current memory, and CPU since the last sample.
 *
 *     sampler_take... -> sampler_done
 *
 * The processes of a service are those of its control group, else its main process and all
 * descendants. A process that is new since the last sample counts with its usage since it began.
 *
 * Memory: sampler_done; metrics are in the arena given. Threads: one at a time. Reads /proc.
 */
#ifndef KEPLER_MONITOR_SAMPLER_H
#define KEPLER_MONITOR_SAMPLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/vec.h"
#include "kepler/monitor/metric.h"

struct arena;

struct sampler_target {
    const char *service;
    pid_t pid;          /* the main process; 0: it has ended */
    const char *cgroup; /* the folder of its control group; NULL: none */
};

/* A process in the last sample. */
struct sampler_process {
    pid_t pid;
    uint64_t start, ticks;
};

/* Zero: no sample yet. */
struct sampler {
    VEC(struct sampler_process) seen; /* by pid */
    int64_t looked;                   /* clock_real of that sample */
};

void sampler_done(struct sampler *sampler);

/* Adds one metric for each service that has processes, in the order of the targets. */
void sampler_take(struct sampler *sampler, const struct sampler_target *targets, size_t count,
                  struct arena *arena, struct usage_metrics *ret_metrics);

#endif
