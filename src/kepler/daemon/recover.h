/*
 * recover - what a new daemon does about the work of the one before.
 *
 * What was left of processes has been ended (daemon_init). A config with a snapshot,
 * whose file is still there, is loaded from it, and those of its services that were
 * active are started again, in the order of their dependencies. Of any other config, what
 * was active counts as stopped.
 *
 * Workers read the configs, since that runs their Lua: one that takes long holds up no other.
 * Clients wait for all of them.
 */
#ifndef KEPLER_DAEMON_RECOVER_H
#define KEPLER_DAEMON_RECOVER_H

struct daemon;

/* Begins it, before the first client is accepted. What cannot be recovered is logged and left. */
void recover_all(struct daemon *daemon);

#endif
