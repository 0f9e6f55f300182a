/*
 * loader - reads a call's config in a worker.
 *
 * Reading a config runs its Lua (scripts of `kepler:`, computed dependencies), which may take
 * seconds: the loop continues meanwhile.
 *
 *     loader_begin -> step of the call, until loader_is_done -> loader_take or loader_refuse
 *
 * Ends with its call.
 *
 * Memory: the heap. Threads: the loop's; the worker is internal.
 */
#ifndef KEPLER_DAEMON_LOADER_H
#define KEPLER_DAEMON_LOADER_H

#include <stdbool.h>

#include "kepler/daemon/call.h"

#define LOADER_MAX 16

struct config;
struct loader;
struct project;

/* Reads call->source, and calls `step` when that is done. Refuses, which ends the call, when its
 * client has LOADER_MAX in progress: it must not fill the memory with queued work. */
void loader_begin(struct call *call, call_step_fn *step);
bool loader_is_done(const struct loader *loader);
/* The result; NULL when it has mistakes. */
const struct config *loader_config(const struct loader *loader);
/* Refuse the call, with the mistakes. */
void loader_refuse(struct call *call);
/* Takes the project with that config, which is not open yet. */
struct project *loader_take(struct loader *loader);
/* Waits for the worker. NULL is fine. */
void loader_free(struct loader *loader);

#endif
