/*
 * unixsock - Unix sockets: listening, connecting, and the user at the other end.
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
    const char *advice; /* a hint for a path that is too long; or NULL */
};

/* A listening socket with this mode. A dead socket is replaced; any other file at its path is
 * refused. The socket is visible only once it listens. */
int unixsock_listen(const struct unixsock *at, unsigned mode, int *ret_fd, struct err *err);

/* A connected, non-blocking socket. Fails with ERR_NOT_FOUND when nothing listens, and with
 * ERR_TIMEOUT when the queue is full for some seconds. */
int unixsock_connect(const struct unixsock *to, int *ret_fd, struct err *err);

/* The process at the other end. */
struct unixsock_peer {
    uid_t uid;
    gid_t gid;
    pid_t pid;
};
int unixsock_peer(int fd, struct unixsock_peer *ret_peer, struct err *err);

#endif
