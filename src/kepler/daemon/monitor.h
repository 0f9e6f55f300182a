/*
 * monitor - looks at what the services of one config use, and stores it when the config says so.
 *
 *     monitor_new -> { monitor_wake | monitor_look }... -> monitor_free
 *
 * With `kepler.monitor` a look is due at each interval, from the first start of a service on and
 * as long as one runs; without it nothing happens but what clients ask for. A worker looks and
 * writes, one look at a time; the store (kepler/logs/log_store.h) is opened by the first one.
 *
 * Memory: the heap. Threads: the loop's; the worker is its own affair.
 */
#ifndef KEPLER_DAEMON_MONITOR_H
#define KEPLER_DAEMON_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "kepler/monitor/metric.h"

struct monitor;
struct project;

struct monitor *monitor_new(struct project *project);
/* Waits for a look that is under way, and closes the store. NULL is fine. */
void monitor_free(struct monitor *monitor);

/* A service has begun to run. */
void monitor_wake(struct monitor *monitor);

/* Look now, or be content with a look of the moment before. Returns a ticket: when
 * monitor_has_looked, monitor_metrics are new enough. The project settles then. */
uint64_t monitor_look(struct monitor *monitor);
bool monitor_has_looked(const struct monitor *monitor, uint64_t ticket);
/* Of the services that run. Until the next turn of the loop. */
const struct usage_metrics *monitor_metrics(const struct monitor *monitor);

#endif
