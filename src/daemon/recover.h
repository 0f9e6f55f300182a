/*
 * recover - what a new daemon does about the work of the one before.
 *
 * What was left of processes has been ended (daemon_init). A config with a snapshot,
 * whose file is still there, is loaded from it, and those of its services that were
 * active are started again, in the order of their dependencies. Of any other config, what
 * was active counts as stopped.
 */
#ifndef DAEMON_RECOVER_H
#define DAEMON_RECOVER_H

struct daemon;

/* Before the first client comes. What cannot be recovered is logged and left. */
void recover_all(struct daemon *daemon);

#endif
