#include "peel/local_event.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "sys/account.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/path.h"

/* The agent answers earlier: it waits for the stream, and writes to a disk. */
#define ANSWER_NS (3 * LOCAL_EVENT_STORE_NS)

static const char *const status_names[] = { "stored", "buffered", "refused" };

/* clang-format off */
static const struct record_field event_fields[] = {
    RECORD("tag",     TEXT, struct local_event, tag, RECORD_REQUIRED),
    RECORD("data",    MAP,  struct local_event, data, RECORD_OMIT),
    { 0 },
};
static const struct record_field answer_fields[] = {
    RECORD("status",  WORD, struct local_event_answer, status, RECORD_REQUIRED, RECORD_WORDS(status_names)),
    RECORD("id",      TEXT, struct local_event_answer, id, RECORD_OMIT, .fallback_text = ""),
    RECORD("tag",     TEXT, struct local_event_answer, tag, RECORD_OMIT, .fallback_text = ""),
    RECORD("key",     TEXT, struct local_event_answer, key, RECORD_OMIT, .fallback_text = ""),
    RECORD("subject", TEXT, struct local_event_answer, subject, RECORD_OMIT, .fallback_text = ""),
    RECORD("error",   TEXT, struct local_event_answer, error, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};
/* clang-format on */

const struct record_type local_event_type =
    RECORD_TYPE("local event", struct local_event, event_fields, RECORD_REFUSE_UNKNOWN);
const struct record_type local_event_answer_type =
    RECORD_TYPE("local event answer", struct local_event_answer, answer_fields, 0);

const char *local_event_status_name(enum local_event_status status)
{
    return status_names[status];
}

struct unixsock local_event_socket(struct arena *arena, const char *data_dir)
{
    return (struct unixsock){ .path = path_join(arena, data_dir, LOCAL_EVENT_SOCKET),
                              .type = SOCK_SEQPACKET,
                              .advice = "set data_dir to a shorter one" };
}

/* Data of an event are for the agent alone. */
static int check_listener(const struct unixsock *sock, int fd, struct err *err)
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

static int await_answer(int fd, int64_t deadline, struct err *err)
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

static int converse(int fd, struct str packet, struct buf *answer, struct err *err)
{
    char *room = buf_reserve(answer, LOCAL_EVENT_MAX);
    ssize_t n;

    /* an agent that refuses us may have answered and closed already */
    if (send(fd, packet.p, packet.n, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
        return err_sys(err, errno, "write to the agent");
    if (await_answer(fd, clock_after(clock_real(), ANSWER_NS), err) < 0)
        return -1;
    n = recv(fd, room, LOCAL_EVENT_MAX, 0);
    if (n < 0)
        return err_sys(err, errno, "read from the agent");
    if (n == 0)
        return err_set(err, ERR_NOT_FOUND, "lost the connection to the agent before it answered");
    answer->n += (size_t)n;
    return 0;
}

int local_event_raise(struct arena *arena, const struct unixsock *socket,
                      const struct local_event *event, struct local_event_answer *ret_answer,
                      struct err *err)
{
    AUTO_BUF struct buf packet = BUF_INIT(LOCAL_EVENT_MAX), answer = BUF_INIT(2 * LOCAL_EVENT_MAX);
    AUTO_FD int fd = -1;

    if (record_encode(&packet, &local_event_type, event, err) < 0)
        return err_wrap(err, "the event");
    if (unixsock_connect(socket, &fd, err) < 0)
        return err->code == ERR_NOT_FOUND ? err_wrap(err, "the agent is not running") : -1;
    if (check_listener(socket, fd, err) < 0 || converse(fd, buf_view(&packet), &answer, err) < 0 ||
        record_decode(arena, &local_event_answer_type, 0, buf_copy(&answer, arena), ret_answer,
                      err) < 0)
        return -1;
    if (ret_answer->status == LOCAL_EVENT_REFUSED)
        return err_set(err, ERR_INVALID, "%s", ret_answer->error);
    return 0;
}
