/*
 * monitor - samples the resource usage of one config's services, and stores it if configured.
 *
 *     monitor_new -> { monitor_wake | monitor_look }... -> monitor_free
 *
 * With `kepler.monitor` a sample is taken at each interval while a service runs; without it only
 * on request. A worker samples and writes, one sample at a time; the first one opens the store
 * (kepler/logs/log_store.h).
 *
 * Memory: the heap. Threads: the loop's; the worker is internal.
 */
#ifndef KEPLER_DAEMON_MONITOR_H
#define KEPLER_DAEMON_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "kepler/monitor/metric.h"

struct monitor;
struct project;

struct monitor *monitor_new(struct project *project);
/* Waits for a sample in progress, and closes the store. NULL is fine. */
void monitor_free(struct monitor *monitor);

/* A service has begun to run. */
void monitor_wake(struct monitor *monitor);

/* Takes a sample, unless there is a very recent one. Returns a ticket: once monitor_has_looked,
 * monitor_metrics are new enough. The project settles then. */
uint64_t monitor_look(struct monitor *monitor);
bool monitor_has_looked(const struct monitor *monitor, uint64_t ticket);
/* Metrics of the running services. Valid until the next turn of the loop. */
const struct usage_metrics *monitor_metrics(const struct monitor *monitor);

#endif
