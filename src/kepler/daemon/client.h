/*
 * client - one connection to the control socket, and its user.
 *
 * A client that sends a token has the token's rights, else its user's (kepler/daemon/caller.h).
 * Rights on a config are decided in kepler/daemon/call_access.h.
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
    bool stranger; /* was neither a member nor root when it connected */
    struct client *next, **back;
};

/* Takes over `fd`. A client without permission gets an error and is disconnected. */
void client_new(struct daemon *daemon, int fd);
void client_free(struct client *client);

/* Why the client has no access, and what to do about it; NULL: it has, and `ret_caller` is its
 * identity, in the arena. Looked up each time. `token`: sent with its request; or NULL. An invalid
 * token is refused: a client that restricts itself must not get more rights when that fails. */
const char *client_refusal(const struct client *client, const char *token, struct arena *arena,
                           struct acl_caller *ret_caller);

#endif
