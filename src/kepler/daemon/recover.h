/*
 * recover - restores the configs of the previous daemon.
 *
 * Stale processes have been ended before (daemon_init). A config with a snapshot is loaded from it
 * if its file still exists, and its services that were active are started again, in dependency
 * order. In any other config, active services count as stopped.
 *
 * Workers read the configs, since that runs their Lua: a slow one does not delay the others.
 * Clients wait for all of them.
 */
#ifndef KEPLER_DAEMON_RECOVER_H
#define KEPLER_DAEMON_RECOVER_H

struct daemon;

/* Begins recovery, before the first client is accepted. A config that cannot be recovered is logged
 * and left alone. */
void recover_all(struct daemon *daemon);

#endif
