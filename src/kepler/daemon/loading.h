/*
 * loading - a config being loaded: its text, its owner, and its environment.
 *
 * The owner is the user who first loads a config, and stays the owner, through daemon restarts,
 * until all its stored data is removed (stop --clean, prune). When root or a user with the right
 * loads it again, it is for the owner: the file is read with the owner's rights, services run as
 * the owner, and the caller's environment is not passed to them: they keep their current one, or
 * get PATH alone.
 *
 * Memory: the arena of the call. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_LOADING_H
#define KEPLER_DAEMON_LOADING_H

#include <stdbool.h>

struct call;
struct err;

/* For a call with start's arguments: fills call->project, if the config is loaded, and
 * call->source. Without permission it refuses, which ends the call, and returns -1. */
int loading_read(struct call *call);

/* For a loaded config: does --hardening require another level than it has? Fails, or sets a
 * warning. */
int loading_check_level(struct call *call, struct err *err);

/* Does the file, as its owner sees it, differ from what was loaded? False when it cannot be read.
 */
bool loading_is_stale(struct call *call);

#endif
