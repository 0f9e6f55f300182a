/*
 * home - the daemon's folder and socket.
 *
 *     root     $KEPLER_DAEMON_PATH; else /var/lib/kepler for root, and
 *              $XDG_STATE_HOME/kepler (or ~/.local/state/kepler) for others
 *     socket   $KEPLER_SOCKET_PATH, else root/kepler.sock
 *
 * A user without their own daemon is directed to the system daemon, if there is one.
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

/* For the daemon: its home. */
int home_find(struct arena *arena, struct home *ret_home, struct err *err);
/* For a client: where a daemon is, or would be. */
int home_find_client(struct arena *arena, struct home *ret_home, struct err *err);

/* The folder of one config, and its name: the hash of the canonical path. */
const char *home_config(struct arena *arena, const struct home *home, const char *path);
void home_hash(const char *path, char ret_hash[static SHA256_HEX_SIZE]);

/* Connects the socket. Fails with ERR_NOT_FOUND and a hint when nobody listens. A listener that is
 * neither root nor the caller's user is refused with ERR_INVALID before anything is sent. */
int home_connect(const struct home *home, int *ret_fd, struct err *err);
/* Opens a listening socket with this mode. Replaces one that nobody listens on; refuses a link. */
int home_listen(const struct home *home, unsigned mode, int *ret_fd, struct err *err);

#endif
