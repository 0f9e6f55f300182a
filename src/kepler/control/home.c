#include "kepler/control/home.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/account.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/unixsock.h"

#define SYSTEM_ROOT  "/var/lib/kepler"
#define PID_FILE_MAX 64

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

static struct unixsock socket_of(const struct home *home)
{
    return (struct unixsock){ .path = home->socket,
                              .type = SOCK_STREAM,
                              .advice = "set KEPLER_SOCKET_PATH to a shorter one" };
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
static int check_daemon_user(const struct home *home, int fd, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct unixsock_peer peer;
    const char *who;

    if (unixsock_peer(fd, &peer, err) < 0)
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
    const struct unixsock to = socket_of(home);
    AUTO_FD int fd = -1;

    if (unixsock_connect(&to, &fd, err) < 0) {
        if (err->code == ERR_TIMEOUT)
            return err_set(err, ERR_TIMEOUT,
                           "the daemon at '%s' does not accept connections: it has too many "
                           "clients, or is stuck",
                           home->socket);
        if (err->code == ERR_NOT_FOUND)
            return refuse_absent(home, err);
        return err->code == ERR_SYSTEM ? err_wrap(err, "the daemon") : -1;
    }
    if (check_daemon_user(home, fd, err) < 0)
        return -1;
    *ret_fd = fd_take(&fd);
    return 0;
}

int home_listen(const struct home *home, unsigned mode, int *ret_fd, struct err *err)
{
    const struct unixsock at = socket_of(home);

    return unixsock_listen(&at, mode, ret_fd, err);
}
