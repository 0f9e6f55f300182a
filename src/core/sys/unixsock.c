#include "core/sys/unixsock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"

#define BACKLOG 128
/* How long a client waits to be accepted. */
#define CONNECT_SECONDS 10

static int make_address(const struct unixsock *sock, const char *path, struct sockaddr_un *ret,
                        struct err *err)
{
    const size_t n = strlen(path);

    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (n >= sizeof(ret->sun_path))
        return err_set(err, ERR_LIMIT, "the socket path '%s' exceeds the limit of %zu bytes%s%s",
                       path, sizeof(ret->sun_path) - 1, sock->advice ? ": " : "",
                       sock->advice ? sock->advice : "");
    memcpy(ret->sun_path, path, n);
    return 0;
}

static int open_unix_socket(const struct unixsock *sock, int *ret_fd, struct err *err)
{
    *ret_fd = socket(AF_UNIX, sock->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return *ret_fd < 0 ? err_sys(err, errno, "make a socket") : 0;
}

/* When the queue is full, wait for a place in it. */
static int connect_in_time(int fd, const struct sockaddr_un *to)
{
    const struct timeval most = { .tv_sec = CONNECT_SECONDS };
    int rc = -1;

    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) == 0 &&
        fcntl(fd, F_SETFL, 0) == 0)
        rc = connect(fd, (const struct sockaddr *)to, sizeof(*to));
    return rc < 0 ? -1 : fcntl(fd, F_SETFL, O_NONBLOCK);
}

int unixsock_connect(const struct unixsock *to, int *ret_fd, struct err *err)
{
    struct sockaddr_un address;
    AUTO_FD int fd = -1;

    if (make_address(to, to->path, &address, err) < 0 || open_unix_socket(to, &fd, err) < 0)
        return -1;
    if (connect_in_time(fd, &address) < 0) {
        if (errno == EAGAIN)
            return err_set(err, ERR_TIMEOUT, "'%s' does not accept connections", to->path);
        if (errno == ENOENT || errno == ECONNREFUSED)
            return err_set(err, ERR_NOT_FOUND, "nothing listens on '%s'", to->path);
        return err_sys(err, errno, "connect to '%s'", to->path);
    }
    *ret_fd = fd_take(&fd);
    return 0;
}

/* Left behind by a dead process. */
static int remove_stale(const char *path, struct err *err)
{
    struct fs_info info;

    if (fs_lstat(path, &info, err) < 0)
        return -1;
    if (info.kind == FS_NONE)
        return 0;
    if (info.kind != FS_SOCKET)
        return err_set(err, ERR_INVALID, "'%s' is a %s, not a socket: remove it first", path,
                       fs_kind_name(info.kind));
    return fs_unlink(path, err);
}

int unixsock_listen(const struct unixsock *at, unsigned mode, int *ret_fd, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *temp = arena_printf(&arena, "%s~", at->path);
    struct sockaddr_un address;
    AUTO_FD int fd = -1;
    mode_t before;
    int bound;

    if (make_address(at, temp, &address, err) < 0 || remove_stale(at->path, err) < 0 ||
        fs_unlink(temp, err) < 0 || open_unix_socket(at, &fd, err) < 0)
        return -1;
    before = umask(~mode & 0777);
    bound = bind(fd, (const struct sockaddr *)&address, sizeof(address));
    (void)umask(before);
    if (bound < 0 || listen(fd, BACKLOG) < 0)
        return err_sys(err, errno, "listen on '%s'", at->path);
    if (fs_rename(temp, at->path, err) < 0)
        return -1;
    *ret_fd = fd_take(&fd);
    return 0;
}

int unixsock_peer(int fd, struct unixsock_peer *ret_peer, struct err *err)
{
    struct ucred cred;
    socklen_t size = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
        return err_sys(err, errno, "read the credentials of the socket");
    *ret_peer = (struct unixsock_peer){ cred.uid, cred.gid, cred.pid };
    return 0;
}
