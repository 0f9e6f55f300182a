/*
 * client - someone on the other end of the socket, and who that is.
 *
 * Root and the user who runs the daemon may do everything. Others must be in the group
 * of the daemon, may load configs, and see those that they have loaded.
 *
 * Memory: the heap, until the connection ends. Threads: the loop's.
 */
#ifndef DAEMON_CLIENT_H
#define DAEMON_CLIENT_H

#include <stdbool.h>

#include "control/connection.h"
#include "sys/unixsock.h"

struct call;
struct daemon;

struct client {
    struct daemon *daemon;
    struct connection connection;
    struct unixsock_peer peer;
    struct client *next, **back;
};

/* Takes over `fd`. A client without permission gets an error and is disconnected. */
void client_new(struct daemon *daemon, int fd);
void client_free(struct client *client);

/* Why it may ask for nothing, and what to do about it; NULL: it may. Looked up afresh. */
const char *client_refusal(const struct client *client);

/* Root, or the user who runs the daemon. */
bool client_is_master(const struct client *client);
/* May it see and change a config of this owner? */
bool client_may(const struct client *client, uid_t owner);

/* May the client read the file? */
int client_can_read(const struct client *client, const char *path, struct err *err);

#endif
