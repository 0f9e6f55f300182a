/*
 * health - the health checks of a running service.
 *
 * The first check runs `start_period` after the service is up, each further one `interval` after
 * the end of the previous. A check that takes longer than `timeout` is killed with its whole tree
 * and has failed. A pass resets the count of failures; `retries` failures in a row make the
 * service unhealthy.
 *
 *     health_begin -> { EV_HEALTHY or EV_UNHEALTHY -> health_next }... -> health_end
 *
 * An event reports a change; health_next then schedules the next check, because hooks come first.
 * Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_HEALTH_H
#define KEPLER_ENGINE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/sys/process.h"
#include "core/sys/timers.h"

struct service;

#define HEALTH_WORDS_MAX 160

enum check_stage {
    HEALTH_IDLE,
    HEALTH_CHECKING,
    HEALTH_STALE, /* the running check belongs to an earlier run */
};

/* How a check ended. */
enum check_end {
    HEALTH_ENDED, /* `last` has its exit status */
    HEALTH_LATE,
    HEALTH_UNSTARTED,
};

struct health {
    bool on;        /* checks are wanted */
    bool timed_out; /* the running check */
    bool answered;  /* an event was reported; the next check waits for health_next */
    enum check_stage stage;
    enum check_end end;         /* of the last check */
    struct process_status last; /* how the last one ended */
    struct buf words;           /* what it wrote last, if it failed */
    struct timer timer;
};

/* The service is up. Does nothing without a health check. */
void health_begin(struct service *service);
/* Continues after an event. */
void health_next(struct service *service);
/* Stops checking; a running check is killed. */
void health_end(struct service *service);
/* Prints how the last check ended: "exit status 1: connection refused". */
void health_print_last(const struct service *service, struct buf *out);
/* The world reports the end of the check. */
void health_task_ended(struct service *service, struct process_status status);
void health_done(struct health *health);

#endif
