#include "fleet/ssh/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/data/frame.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"

#define CHUNK 65536

enum { SLOT_IN, SLOT_OUT, SLOT_ERR, SLOT_CANCEL, SLOTS };

static void set_nonblocking(int fd)
{
    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void ssh_channel_init(struct ssh_channel *channel, int in, int out, int err)
{
    *channel = (struct ssh_channel){ .in = in,
                                     .out = out,
                                     .err = err,
                                     .deadline = CLOCK_NEVER,
                                     .idle = CLOCK_NEVER,
                                     .ahead = BUF_INIT(SSH_REQUEST_MAX + FRAME_HEAD + CHUNK),
                                     .words = BUF_INIT(2 * SSH_CHANNEL_WORDS_MAX + CHUNK) };
    set_nonblocking(in);
    set_nonblocking(out);
    set_nonblocking(err);
}

void ssh_channel_done(struct ssh_channel *channel)
{
    buf_done(&channel->ahead);
    buf_done(&channel->words);
}

/* --- waiting -------------------------------------------------------------------------- */

static void keep_error_words(struct ssh_channel *channel)
{
    char chunk[CHUNK];
    const ssize_t n = read(channel->err, chunk, sizeof(chunk));

    if (n > 0)
        buf_add(&channel->words, chunk, (size_t)n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        channel->err = -1;
    if (channel->words.n > 2 * SSH_CHANNEL_WORDS_MAX)
        buf_consume(&channel->words, channel->words.n - SSH_CHANNEL_WORDS_MAX);
}

static int describe_silence(const struct ssh_channel *channel, int64_t now, struct err *err)
{
    return err_set(err, ERR_TIMEOUT, "%s",
                   now >= channel->deadline ? "not finished in time" : "no answer for too long");
}

/* Until `fd` is ready for `events`. */
static int wait_channel(struct ssh_channel *channel, int fd, short events, struct err *err)
{
    const int64_t quiet = clock_after(clock_real(), channel->idle);
    const int64_t until = quiet < channel->deadline ? quiet : channel->deadline;

    for (;;) {
        struct pollfd polls[SLOTS] = {
            [SLOT_IN] = { .fd = events == POLLIN ? fd : -1, .events = POLLIN },
            [SLOT_OUT] = { .fd = events == POLLOUT ? fd : -1, .events = POLLOUT },
            [SLOT_ERR] = { .fd = channel->err, .events = POLLIN },
            [SLOT_CANCEL] = { .fd = cancel_fd(channel->cancel), .events = POLLIN },
        };
        struct timespec room;
        const int n = ppoll(polls, SLOTS, clock_left(until, &room), NULL);

        if (n < 0 && errno != EINTR)
            return err_sys(err, errno, "wait for a machine");
        if (n > 0 && polls[SLOT_ERR].revents)
            keep_error_words(channel);
        if (n > 0 && polls[SLOT_CANCEL].revents)
            return err_set(err, ERR_CANCELED, "canceled");
        if (n > 0 && (polls[SLOT_IN].revents || polls[SLOT_OUT].revents))
            return 0;
        if (clock_real() >= until)
            return describe_silence(channel, clock_real(), err);
    }
}

void ssh_channel_drain(struct ssh_channel *channel, int64_t wait)
{
    const int64_t until = clock_after(clock_real(), wait);

    while (channel->err >= 0 && clock_real() < until) {
        struct pollfd poll_err = { .fd = channel->err, .events = POLLIN };
        struct timespec room;

        if (ppoll(&poll_err, 1, clock_left(until, &room), NULL) > 0)
            keep_error_words(channel);
    }
}

/* --- reading -------------------------------------------------------------------------- */

/* Some more bytes, one at least. */
static int read_channel(struct ssh_channel *channel, struct err *err)
{
    for (;;) {
        char *room = buf_reserve(&channel->ahead, CHUNK);
        ssize_t n;

        if (!room)
            return err_set(err, ERR_LIMIT, "more data received than requested");
        if (wait_channel(channel, channel->in, POLLIN, err) < 0)
            return -1;
        n = read(channel->in, room, CHUNK);
        if (n > 0) {
            channel->ahead.n += (size_t)n;
            return 0;
        }
        if (n == 0)
            return err_set(err, ERR_NOT_FOUND, "the connection has ended");
        if (errno != EINTR && errno != EAGAIN)
            return err_sys(err, errno, "read from a machine");
    }
}

int ssh_channel_line(struct ssh_channel *channel, size_t max, struct arena *arena,
                     struct str *ret_line, struct err *err)
{
    for (;;) {
        const struct str seen = buf_view(&channel->ahead);
        const size_t end = str_find_char(seen, '\n', 0);

        if (end != STR_NONE && end <= max) {
            *ret_line = arena_str(arena, str_slice(seen, 0, end));
            buf_consume(&channel->ahead, end + 1);
            return 0;
        }
        if (seen.n > max)
            return err_set(err, ERR_LIMIT, "unexpected message received");
        if (read_channel(channel, err) < 0)
            return -1;
    }
}

static int fill_ahead(struct ssh_channel *channel, size_t size, struct err *err)
{
    while (channel->ahead.n < size)
        if (read_channel(channel, err) < 0)
            return -1;
    return 0;
}

int ssh_channel_take(struct ssh_channel *channel, enum ssh_message kind, size_t max,
                     struct arena *arena, struct str *ret_payload, struct err *err)
{
    struct frame_head head;
    struct str payload;

    if (fill_ahead(channel, FRAME_HEAD, err) < 0)
        return -1;
    if (!frame_head_decode(channel->ahead.p, 0, &head) || head.version != kind)
        return err_set(err, ERR_INVALID, "unexpected message received");
    if (head.length > max)
        return err_set(err, ERR_LIMIT, "it sends more than %zu bytes at once", max);
    if (fill_ahead(channel, FRAME_HEAD + (size_t)head.length, err) < 0)
        return -1;
    payload = str_slice(buf_view(&channel->ahead), FRAME_HEAD, head.length);
    if (!frame_head_fits(&head, 0, payload))
        return err_set(err, ERR_INVALID, "damaged message received");
    *ret_payload = arena_str(arena, payload);
    buf_consume(&channel->ahead, FRAME_HEAD + (size_t)head.length);
    return 0;
}

/* --- writing -------------------------------------------------------------------------- */

int ssh_channel_write(struct ssh_channel *channel, struct str bytes, struct err *err)
{
    while (bytes.n > 0) {
        ssize_t n;

        if (wait_channel(channel, channel->out, POLLOUT, err) < 0)
            return -1;
        n = write(channel->out, bytes.p, bytes.n < CHUNK ? bytes.n : CHUNK);
        if (n > 0)
            bytes = str_from_offset(bytes, (size_t)n);
        else if (n < 0 && errno == EPIPE)
            return err_set(err, ERR_NOT_FOUND, "the connection has ended");
        else if (n < 0 && errno != EINTR && errno != EAGAIN)
            return err_sys(err, errno, "write to a machine");
    }
    return 0;
}

int ssh_channel_send(struct ssh_channel *channel, enum ssh_message kind, struct str payload,
                     struct err *err)
{
    char head[FRAME_HEAD];

    frame_head_encode((uint16_t)kind, 0, payload, head);
    return ssh_channel_write(channel, str_bytes(head, sizeof(head)), err) < 0
               ? -1
               : ssh_channel_write(channel, payload, err);
}
