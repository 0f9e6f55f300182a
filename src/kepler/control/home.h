/*
 * home - where the daemon keeps its things, and where it is reached.
 *
 *     root     $KEPLER_DAEMON_PATH; else /var/lib/kepler for root, and
 *              $XDG_STATE_HOME/kepler (or ~/.local/state/kepler) for others
 *     socket   $KEPLER_SOCKET_PATH, else root/kepler.sock
 *
 * A user without their own daemon is directed to that of the system, if there is one.
 *
 * Memory: the arena. Threads: any that do not change the environment.
 */
#ifndef KEPLER_CONTROL_HOME_H
#define KEPLER_CONTROL_HOME_H

#include <stdbool.h>

#include "core/base/sha256.h"

struct arena;
struct err;

struct home {
    const char *root, *socket, *pid_file, *lock, *configs, *log;
};

/* For the daemon: its own home. */
int home_find(struct arena *arena, struct home *ret_home, struct err *err);
/* For a client: where a daemon is, or would be. */
int home_find_client(struct arena *arena, struct home *ret_home, struct err *err);

/* The folder of one config, and its name: the hash of the canonical path. */
const char *home_config(struct arena *arena, const struct home *home, const char *path);
void home_hash(const char *path, char ret_hash[static SHA256_HEX_SIZE]);

/* A connected socket. Fails with ERR_NOT_FOUND and a hint when nobody listens. Nothing has been
 * sent: a listener that is neither root nor the caller's own user is refused with ERR_INVALID. */
int home_connect(const struct home *home, int *ret_fd, struct err *err);
/* A listening socket with this mode. One that nobody listens on is replaced; a link is refused. */
int home_listen(const struct home *home, unsigned mode, int *ret_fd, struct err *err);

#endif
