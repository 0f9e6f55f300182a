#include "daemon/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "control/message.h"
#include "daemon/call.h"
#include "daemon/daemon.h"
#include "sys/account.h"
#include "sys/fd.h"
#include "sys/fs.h"

#define FD_PATH_SIZE 32

bool client_is_master(const struct client *client)
{
    return client->peer.uid == 0 || client->peer.uid == geteuid();
}

bool client_may(const struct client *client, uid_t owner)
{
    return client_is_master(client) || client->peer.uid == owner;
}

/* The groups of the account, looked up afresh: who was put out of a group has lost it. */
static int load_groups(struct arena *arena, const struct client *client, struct account_gids *ret,
                       struct err *err)
{
    const struct account *account;

    *ret = (struct account_gids){ 0 };
    VEC_PUSH_IN(arena, &ret->list, client->peer.gid);
    if (account_find_uid(arena, client->peer.uid, &account, err) < 0)
        return -1;
    return account ? account_groups(arena, account, ret, err) : 0;
}

static bool is_member(const struct client *client)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct account_gids gids;
    struct err err;

    if (!client->daemon->has_group || load_groups(&arena, client, &gids, &err) < 0)
        return false;
    VEC_EACH (&gids.list, gid)
        if (*gid == client->daemon->group)
            return true;
    return client->peer.gid == client->daemon->group;
}

/* --- files with the rights of the client --------------------------------------------------- */

/* Of this thread alone: the system calls themselves, since the library's change all threads. */
static void act_as(uid_t uid, gid_t gid, const gid_t *groups, size_t count)
{
    (void)syscall(SYS_setgroups, count, groups);
    (void)setfsgid(gid);
    (void)setfsuid(uid);
}

static int open_as(const struct client *client, const char *path, struct arena *arena, int *ret_fd,
                   struct err *err)
{
    int own_count = getgroups(0, NULL), saved;
    gid_t *own = ARENA_ARRAY(arena, gid_t, (size_t)(own_count > 0 ? own_count : 0) + 1);
    struct account_gids gids;

    own_count = getgroups(own_count, own);
    if (own_count < 0)
        return err_sys(err, errno, "ask for our groups");
    if (load_groups(arena, client, &gids, err) < 0)
        return -1;
    act_as(client->peer.uid, client->peer.gid, gids.list.p, gids.list.n);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    saved = errno;
    act_as(geteuid(), getegid(), own, (size_t)own_count);
    errno = saved;
    return 0;
}

int client_read(const struct client *client, const char *path, size_t max, struct arena *arena,
                const char **ret_path, struct str *ret_text, struct err *err)
{
    char link[FD_PATH_SIZE];
    const char *canonical;
    AUTO_FD int fd = -1;

    if (client_is_master(client))
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    else if (open_as(client, path, arena, &fd, err) < 0)
        return -1;
    if (fd < 0)
        return err_sys(err, errno, "read '%s'", path);
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (fs_readlink(arena, link, &canonical, err) < 0)
        return -1;
    if (!canonical)
        return err_set(err, ERR_NOT_FOUND, "read '%s': it has no name", path);
    if (fs_read_fd(arena, fd, path, max, ret_text, err) < 0)
        return -1;
    *ret_path = canonical;
    return 0;
}

/* --- life -------------------------------------------------------------------------------- */

static void on_message(void *self, const struct message *message)
{
    call_begin(self, message);
}

static void on_drained(void *self)
{
    const struct client *client = self;

    daemon_pump_soon(client->daemon);
}

static void on_closed(void *self, const char *why)
{
    struct client *client = self;

    if (why[0])
        log_warning("client lost pid=%d uid=%u why=%s", (int)client->peer.pid, client->peer.uid,
                    why);
    client_free(client);
}

static void refuse(struct client *client)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct message no = {
        MESSAGE_REPLY, 0, MESSAGE_DENIED,
        message_body(&arena, "message",
                     "this daemon serves root and members of the group '" DAEMON_GROUP
                     "': ask to be added, or run a daemon of your own ('kepler daemon start -d' "
                     "with KEPLER_DAEMON_PATH set)")
    };
    struct err ignored;

    log_warning("client refused pid=%d uid=%u", (int)client->peer.pid, client->peer.uid);
    (void)connection_send(&client->connection, &no, &ignored);
    connection_close(&client->connection);
}

void client_new(struct daemon *daemon, int fd)
{
    struct client *client = mem_zalloc(sizeof(*client));
    const struct connection_events events = {
        .self = client, .message = on_message, .drained = on_drained, .closed = on_closed
    };
    struct err err;

    client->daemon = daemon;
    if (connection_peer(fd, &client->peer, &err) < 0 ||
        connection_start(&client->connection, daemon->loop, fd, &events, &err) < 0) {
        log_warning("client not served error=%s", err.text);
        fd_close(&fd);
        free(client);
        return;
    }
    client->next = daemon->clients;
    client->back = &daemon->clients;
    if (client->next)
        client->next->back = &client->next;
    daemon->clients = client;
    daemon->client_count++;
    if (!client_is_master(client) && !is_member(client))
        refuse(client);
}

void client_free(struct client *client)
{
    call_leave(client);
    connection_done(&client->connection);
    *client->back = client->next;
    if (client->next)
        client->next->back = client->back;
    client->daemon->client_count--;
    free(client);
}
