#include "core/runs/agent.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sys/account.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/path.h"

struct unixsock agent_socket(struct arena *arena, const char *data_dir)
{
    return (struct unixsock){ .path = path_join(arena, data_dir, AGENT_SOCKET),
                              .type = SOCK_SEQPACKET,
                              .advice = "set data_dir to a shorter one" };
}

/* The packet is for the agent only, and only the agent may answer. */
static int check_agent_owner(const struct unixsock *sock, int fd, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct unixsock_peer peer;

    if (unixsock_peer(fd, &peer, err) < 0)
        return -1;
    if (peer.uid == 0 || peer.uid == geteuid())
        return 0;
    return err_set(err, ERR_INVALID, "the agent at '%s' belongs to %s: nothing was sent",
                   sock->path, account_describe(&arena, peer.uid));
}

static int await_agent_answer(int fd, int64_t deadline, struct err *err)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };
    struct timespec room;
    int n;

    do
        n = ppoll(&one, 1, clock_left(deadline, &room), NULL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(err, errno, "wait for the agent");
    if (n == 0)
        return err_set(err, ERR_TIMEOUT, "the agent did not answer in time");
    return 0;
}

static int exchange_packets(int fd, struct str packet, int64_t wait, struct buf *answer,
                            struct err *err)
{
    char *room = buf_reserve(answer, AGENT_PACKET_MAX);
    ssize_t n;

    /* an agent that refuses us may already have answered and closed */
    if (send(fd, packet.p, packet.n, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
        return err_sys(err, errno, "write to the agent");
    if (await_agent_answer(fd, clock_after(clock_real(), wait), err) < 0)
        return -1;
    n = recv(fd, room, AGENT_PACKET_MAX, 0);
    if (n < 0)
        return err_sys(err, errno, "read from the agent");
    if (n == 0)
        return err_set(err, ERR_NOT_FOUND, "lost the connection to the agent before it answered");
    answer->n += (size_t)n;
    return 0;
}

int agent_exchange(const struct unixsock *socket, struct str packet, int64_t wait,
                   struct buf *answer, struct err *err)
{
    AUTO_FD int fd = -1;

    if (unixsock_connect(socket, &fd, err) < 0)
        return err->code == ERR_NOT_FOUND ? err_wrap(err, "the agent is not running") : -1;
    if (check_agent_owner(socket, fd, err) < 0)
        return -1;
    return exchange_packets(fd, packet, wait, answer, err);
}
