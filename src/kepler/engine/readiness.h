/*
 * readiness - conditions over all services at once: ready, quiescent, failed.
 *
 * Services are visited in dependency order. Nothing here changes anything. Threads: the loop's.
 */
#ifndef KEPLER_ENGINE_READINESS_H
#define KEPLER_ENGINE_READINESS_H

#include <stdbool.h>
#include <stdint.h>

#include "kepler/engine/engine.h"

/* Have the named services come as far as they can without an outside event? A service is ready when
 * it runs (and its health is known, where it has a check), when it has ended or was skipped, or
 * when it waits for something that may never happen: a failure, a stop, or the health of something
 * that is up. Services that wait for such a service are ready too. Others do not count. */
bool readiness_is_ready(const struct engine *engine, struct engine_set set);

/* Will nothing happen again by itself? No service runs, starts, stops or can still start. */
bool readiness_is_quiescent(const struct engine *engine);

/* Did it fail for good (failed, killed, exited with a code other than 0), while no service has a
 * service_failed or service_stopped edge on it with matching exit codes? */
bool readiness_is_unhandled(const struct service *service);

#endif
