/*
 * client - someone on the other end of the socket, and who that is.
 *
 * A client that sends a token has the rights of that token, else those of its user
 * (kepler/daemon/caller.h). What they may do with a config is decided in
 * kepler/daemon/call_access.h.
 *
 * Memory: the heap, until the connection ends. Threads: the loop's.
 */
#ifndef KEPLER_DAEMON_CLIENT_H
#define KEPLER_DAEMON_CLIENT_H

#include <stdbool.h>

#include "kepler/control/connection.h"
#include "core/sys/unixsock.h"

struct acl_caller;
struct arena;
struct call;
struct daemon;

struct client {
    struct daemon *daemon;
    struct connection connection;
    struct unixsock_peer peer;
    bool stranger; /* neither a member nor root when it came */
    struct client *next, **back;
};

/* Takes over `fd`. A client without permission gets an error and is disconnected. */
void client_new(struct daemon *daemon, int fd);
void client_free(struct client *client);

/* Why it may ask for nothing, and what to do about it; NULL: it may, and `ret_caller` is who it is,
 * in the arena. Looked up afresh. `token`: what it sent with its request; or NULL. One that is not
 * valid is refused: who restricts itself must not get more when that fails. */
const char *client_refusal(const struct client *client, const char *token, struct arena *arena,
                           struct acl_caller *ret_caller);

#endif
