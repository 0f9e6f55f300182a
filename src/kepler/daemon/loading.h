/*
 * loading - a config being loaded: its text, its owner, and its environment.
 *
 * The owner is who loads a config first, and stays the owner, through restarts of the daemon,
 * until everything that is stored of it is removed (stop --clean, prune). When root loads it
 * again, or who has the right for that, it is for the owner: the file is read with the owner's
 * rights, services go on running as the owner, and the environment of the caller is not handed to
 * them: they keep the one they had, or get PATH alone.
 *
 * Memory: the arena of the call. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_LOADING_H
#define KEPLER_DAEMON_LOADING_H

#include <stdbool.h>

struct call;
struct err;

/* For a call that has start's arguments: fills call->project, if the config is loaded, and
 * call->source. Refuses, which ends the call, and returns -1 when the client may not have it. */
int loading_read(struct call *call);

/* The config is loaded: does --hardening demand another level than it has? Fails, or leaves a
 * warning. */
int loading_check_level(struct call *call, struct err *err);

/* Is the file, as its owner sees it, another one than was loaded? False when it cannot be read. */
bool loading_is_stale(struct call *call);

#endif
