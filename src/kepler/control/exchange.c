#include "kepler/control/exchange.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "kepler/control/home.h"
#include "kepler/control/token.h"
#include "core/data/frame.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/pool.h"

#define REQUEST_ID 1
#define READ_SIZE  ((size_t)64 << 10)

struct talk {
    const struct exchange *exchange;
    int fd;
    int64_t deadline;
    struct buf in;
};

/* Until the socket is ready for `events`. */
static int await_socket(const struct talk *talk, short events, struct err *err)
{
    struct pollfd fds[] = {
        { .fd = talk->fd, .events = events },
        { .fd = cancel_fd(talk->exchange->cancel), .events = POLLIN },
    };
    struct timespec room;
    int n = ppoll(fds, ARRAY_LEN(fds), clock_left(talk->deadline, &room), NULL);

    if (n < 0 && errno != EINTR)
        return err_sys(err, errno, "wait for the daemon");
    if (cancel_is_raised(talk->exchange->cancel))
        return err_set(err, ERR_CANCELED, "canceled while waiting for the daemon");
    if (n == 0 && clock_real() >= talk->deadline)
        return err_set(err, ERR_TIMEOUT, "the daemon did not answer in time");
    return 0;
}

static int send_request_bytes(const struct talk *talk, struct str bytes, struct err *err)
{
    while (bytes.n > 0) {
        ssize_t n;

        if (await_socket(talk, POLLOUT, err) < 0)
            return -1;
        n = send(talk->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_sys(err, errno, "write to the daemon");
        bytes = str_from_offset(bytes, n > 0 ? (size_t)n : 0);
    }
    return 0;
}

static int fill_buffer(struct talk *talk, struct err *err)
{
    char *room = buf_reserve(&talk->in, READ_SIZE); /* frames are shorter than the maximum */
    ssize_t n;

    if (await_socket(talk, POLLIN, err) < 0)
        return -1;
    n = recv(talk->fd, room, READ_SIZE, 0);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        return err_sys(err, errno, "read from the daemon");
    if (n == 0)
        return err_set(err, ERR_NOT_FOUND, "lost the connection to the daemon before it answered");
    if (n > 0)
        talk->in.n += (size_t)n;
    return 0;
}

static int receive_answer(struct talk *talk, struct message *ret, struct err *err)
{
    struct str payload;

    for (;;) {
        if (message_find(buf_view(&talk->in), &payload, err) < 0)
            return -1;
        if (payload.p)
            break;
        if (fill_buffer(talk, err) < 0)
            return -1;
    }
    if (message_decode(talk->exchange->arena, payload, ret, err) < 0)
        return -1;
    buf_consume(&talk->in, FRAME_HEAD + payload.n);
    return 0;
}

/* Id 0 is the daemon itself: it has disconnected us. */
static bool is_final_answer(const struct message *message)
{
    return message->kind == MESSAGE_REPLY && (message->id == REQUEST_ID || message->id == 0);
}

static int exchange_messages(struct talk *talk, struct str said, struct message *ret,
                             struct err *err)
{
    struct message message;

    if (send_request_bytes(talk, said, err) < 0 || receive_answer(talk, &message, err) < 0 ||
        message_check_hello(&message, err) < 0)
        return -1;
    do {
        if (receive_answer(talk, &message, err) < 0)
            return -1;
    } while (!is_final_answer(&message));
    *ret = message;
    return 0;
}

static int talk_to(const struct exchange *exchange, struct str said, struct message *ret,
                   struct err *err)
{
    struct talk talk = { .exchange = exchange, .in = BUF_INIT(2 * MESSAGE_MAX) };
    AUTO_FD int fd = -1;
    int result;

    if (home_connect(exchange->home, &fd, err) < 0)
        return -1;
    talk.fd = fd;
    talk.deadline = clock_after(clock_real(), exchange->timeout);
    result = exchange_messages(&talk, said, ret, err);
    buf_done(&talk.in);
    return result;
}

int exchange_ask(const struct exchange *exchange, enum request_kind kind, const void *args,
                 struct message *ret_answer, struct err *err)
{
    const struct message hello = message_hello();
    const struct message request = { MESSAGE_REQUEST, REQUEST_ID, request_get(kind)->record.name,
                                     request_encode(exchange->arena, kind, args), token_given() };
    AUTO_BUF struct buf out = BUF_INIT(2 * MESSAGE_MAX);
    int result;

    if (message_encode(&out, &hello, err) < 0 || message_encode(&out, &request, err) < 0)
        return -1;
    pool_block_begin();
    result = talk_to(exchange, buf_view(&out), ret_answer, err);
    pool_block_end();
    return result;
}
