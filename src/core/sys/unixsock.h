/*
 * unixsock - sockets in the file system: listening, connecting, and who is on the other side.
 *
 * Memory: paths are borrowed. Threads: any, but unixsock_listen changes the umask for a moment.
 */
#ifndef CORE_SYS_UNIXSOCK_H
#define CORE_SYS_UNIXSOCK_H

#include <sys/types.h>

struct err;

struct unixsock {
    const char *path;
    int type;           /* SOCK_STREAM, SOCK_SEQPACKET */
    const char *advice; /* what to do about a path that is too long; or NULL */
};

/* A listening socket with this mode. One that nobody listens on is replaced; anything else at its
 * place is refused. Whoever finds the socket finds somebody who listens. */
int unixsock_listen(const struct unixsock *at, unsigned mode, int *ret_fd, struct err *err);

/* A connected socket that does not block. Fails with ERR_NOT_FOUND when nobody listens, and with
 * ERR_TIMEOUT when there is no place in the queue for some seconds. */
int unixsock_connect(const struct unixsock *to, int *ret_fd, struct err *err);

/* Who is on the other side. */
struct unixsock_peer {
    uid_t uid;
    gid_t gid;
    pid_t pid;
};
int unixsock_peer(int fd, struct unixsock_peer *ret_peer, struct err *err);

#endif
