#include "control/home.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "control/connection.h"
#include "sys/account.h"
#include "sys/fd.h"
#include "sys/fs.h"
#include "sys/path.h"

#define SYSTEM_ROOT  "/var/lib/kepler"
#define BACKLOG      128
#define PID_FILE_MAX 64
/* How long a client waits to be let in. */
#define CONNECT_SECONDS 10

static const char *find_setting(const char *name)
{
    const char *text = getenv(name);

    return text && text[0] ? text : NULL;
}

static int own_root(struct arena *arena, const char **ret_root, struct err *err)
{
    const char *folder;

    if (geteuid() == 0) {
        *ret_root = SYSTEM_ROOT;
        return 0;
    }
    folder = find_setting("XDG_STATE_HOME");
    if (!folder && find_setting("HOME"))
        folder = path_join(arena, find_setting("HOME"), ".local/state");
    if (!folder)
        return err_set(err, ERR_NOT_FOUND,
                       "no folder for the state of the daemon: set KEPLER_DAEMON_PATH or HOME");
    *ret_root = path_join(arena, folder, "kepler");
    return 0;
}

static int fill_home(struct arena *arena, const char *root, struct home *ret_home, struct err *err)
{
    const char *socket_path = find_setting("KEPLER_SOCKET_PATH");

    if (!path_is_absolute(root))
        return err_set(err, ERR_INVALID, "KEPLER_DAEMON_PATH must be an absolute path, got '%s'",
                       root);
    *ret_home = (struct home){
        .root = root,
        .socket = socket_path ? socket_path : path_join(arena, root, "kepler.sock"),
        .pid_file = path_join(arena, root, "kepler.pid"),
        .lock = path_join(arena, root, "kepler.lock"),
        .configs = path_join(arena, root, "configs"),
        .log = path_join(arena, root, "daemon.log"),
    };
    return 0;
}

int home_find(struct arena *arena, struct home *ret_home, struct err *err)
{
    const char *root = find_setting("KEPLER_DAEMON_PATH");

    if (!root && own_root(arena, &root, err) < 0)
        return -1;
    return fill_home(arena, root, ret_home, err);
}

int home_find_client(struct arena *arena, struct home *ret_home, struct err *err)
{
    struct fs_info info = { .kind = FS_NONE };

    if (home_find(arena, ret_home, err) < 0)
        return -1;
    if (find_setting("KEPLER_DAEMON_PATH") || find_setting("KEPLER_SOCKET_PATH") || geteuid() == 0)
        return 0;
    if (fs_stat(ret_home->socket, &info, err) == 0 && info.kind == FS_SOCKET)
        return 0;
    if (fs_stat(SYSTEM_ROOT "/kepler.sock", &info, err) == 0 && info.kind == FS_SOCKET)
        return fill_home(arena, SYSTEM_ROOT, ret_home, err);
    return 0;
}

void home_hash(const char *path, char ret_hash[static SHA256_HEX_SIZE])
{
    sha256_hex(path, strlen(path), ret_hash);
}

const char *home_config(struct arena *arena, const struct home *home, const char *path)
{
    char hash[SHA256_HEX_SIZE];

    home_hash(path, hash);
    return path_join(arena, home->configs, hash);
}

static int make_address(const char *path, struct sockaddr_un *ret, struct err *err)
{
    size_t n = strlen(path);

    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (n >= sizeof(ret->sun_path))
        return err_set(err, ERR_LIMIT,
                       "the socket path '%s' exceeds the limit of %zu bytes: set "
                       "KEPLER_SOCKET_PATH to a shorter one",
                       path, sizeof(ret->sun_path) - 1);
    memcpy(ret->sun_path, path, n);
    return 0;
}

static int open_socket(int *ret_fd, struct err *err)
{
    *ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return *ret_fd < 0 ? err_sys(err, errno, "make a socket") : 0;
}

/* Where many want in at once, wait for a place in the queue. */
static int connect_in_time(int fd, const struct sockaddr_un *to)
{
    const struct timeval most = { .tv_sec = CONNECT_SECONDS };
    int rc = -1;

    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)) == 0 &&
        fcntl(fd, F_SETFL, 0) == 0)
        rc = connect(fd, (const struct sockaddr *)to, sizeof(*to));
    return rc < 0 ? -1 : fcntl(fd, F_SETFL, O_NONBLOCK);
}

/* One that ends removes the file with its number. */
static int refuse_absent(const struct home *home, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct str pid = { NULL, 0 };
    struct err ignored;

    if (home->pid_file && fs_read(&arena, home->pid_file, PID_FILE_MAX, &pid, &ignored) == 0 &&
        pid.p)
        return err_set(err, ERR_NOT_FOUND,
                       "the daemon (pid %.*s) died: start a new one with 'kepler daemon start -d', "
                       "which ends leftover services",
                       STR_ARG(str_trim(pid)));
    return err_set(
        err, ERR_NOT_FOUND,
        "the daemon is not running (nobody listens on '%s'): start it with 'kepler daemon "
        "start -d'",
        home->socket);
}

/* Clients send their environment: only root, or one's own user, may read it. */
static int check_listener(const struct home *home, int fd, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct connection_peer peer;
    const char *who;

    if (connection_peer(fd, &peer, err) < 0)
        return -1;
    if (peer.uid == 0 || peer.uid == geteuid())
        return 0;
    who = account_describe(&arena, peer.uid);
    return err_set(err, ERR_INVALID,
                   "the daemon at '%s' belongs to %s: commands are only sent to your own daemon or "
                   "root's; run this command as that user, or check KEPLER_DAEMON_PATH and "
                   "KEPLER_SOCKET_PATH",
                   home->socket, who);
}

int home_connect(const struct home *home, int *ret_fd, struct err *err)
{
    struct sockaddr_un to;
    AUTO_FD int fd = -1;

    if (make_address(home->socket, &to, err) < 0 || open_socket(&fd, err) < 0)
        return -1;
    if (connect_in_time(fd, &to) < 0) {
        if (errno == EAGAIN)
            return err_set(err, ERR_TIMEOUT,
                           "the daemon at '%s' does not accept connections: it has too many "
                           "clients, or is stuck",
                           home->socket);
        if (errno == ENOENT || errno == ECONNREFUSED)
            return refuse_absent(home, err);
        return err_sys(err, errno, "connect to the daemon at '%s'", home->socket);
    }
    if (check_listener(home, fd, err) < 0)
        return -1;
    *ret_fd = fd_take(&fd);
    return 0;
}

/* What a daemon that died left behind. Who comes here holds the lock of the home. */
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

int home_listen(const struct home *home, unsigned mode, int *ret_fd, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const char *temp = arena_printf(&arena, "%s~", home->socket);
    struct sockaddr_un at;
    AUTO_FD int fd = -1;
    mode_t before;
    int bound;

    if (make_address(temp, &at, err) < 0 || remove_stale(home->socket, err) < 0 ||
        fs_unlink(temp, err) < 0 || open_socket(&fd, err) < 0)
        return -1;
    before = umask(~mode & 0777);
    bound = bind(fd, (const struct sockaddr *)&at, sizeof(at));
    (void)umask(before);
    if (bound < 0)
        return err_sys(err, errno, "listen on '%s'", home->socket);
    if (listen(fd, BACKLOG) < 0)
        return err_sys(err, errno, "listen on '%s'", home->socket);
    /* Who finds the socket finds somebody who listens. */
    if (fs_rename(temp, home->socket, err) < 0)
        return -1;
    *ret_fd = fd_take(&fd);
    return 0;
}
