#include "kepler/control/connection.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "kepler/control/message.h"
#include "core/data/frame.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"

#define READ_SIZE ((size_t)64 << 10)

static struct connection *from_watch(struct watch *watch)
{
    return (struct connection *)((char *)watch - offsetof(struct connection, watch));
}

static void on_close_due(struct timer *timer)
{
    struct connection *connection =
        (struct connection *)((char *)timer - offsetof(struct connection, close_timer));

    connection->events.closed(connection->events.self, connection->why);
}

/* The end is reported from the loop, never from within a call of the owner. */
static void end_connection(struct connection *connection, const char *why)
{
    if (timer_is_set(&connection->close_timer))
        return;
    (void)snprintf(connection->why, sizeof(connection->why), "%s", why);
    connection->failed = true;
    watch_stop(&connection->watch);
    timer_set(loop_timers(connection->loop), &connection->close_timer, clock_now(), on_close_due);
}

static void watch_for(struct connection *connection, bool writing)
{
    struct err err;

    if (connection->writing == writing)
        return;
    connection->writing = writing;
    if (watch_change(&connection->watch, writing ? WATCH_READ | WATCH_WRITE : WATCH_READ, &err) < 0)
        end_connection(connection, err.text);
}

static void flush_connection(struct connection *connection)
{
    while (!connection->failed && connection->out.n > 0) {
        ssize_t n =
            send(connection->fd, connection->out.p, connection->out.n, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
            /* the peer is gone, but its last bytes may be unread: reading finds the end */
            buf_clear(&connection->out);
            break;
        }
        if (n < 0 && errno != EAGAIN) {
            end_connection(connection, "it cannot be written to");
            return;
        }
        if (n < 0)
            break;
        buf_consume(&connection->out, (size_t)n);
    }
    if (connection->failed)
        return;
    /* The watch reports `drained`, even if another message flushed the rest. */
    watch_for(connection, connection->out.n > 0 || connection->busy);
    if (connection->out.n == 0 && connection->closing)
        end_connection(connection, "");
}

static int take_message(struct connection *connection, struct str payload, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct message message;

    if (message_decode(&arena, payload, &message, err) < 0)
        return -1;
    if (!connection->greeted) {
        connection->greeted = true;
        return message_check_hello(&message, err);
    }
    connection->events.message(connection->events.self, &message);
    return 0;
}

/* All whole messages that have come. */
static int take_messages(struct connection *connection, struct err *err)
{
    size_t used = 0;
    int result = 0;

    while (result == 0 && !connection->closing && !connection->failed) {
        struct str payload;

        result = message_find(str_from_offset(buf_view(&connection->in), used), &payload, err);
        if (result < 0 || !payload.p)
            break;
        used += FRAME_HEAD + payload.n;
        result = take_message(connection, payload, err);
    }
    buf_consume(&connection->in, used);
    return result;
}

static void receive_messages(struct connection *connection)
{
    char *room = buf_reserve(&connection->in, READ_SIZE);
    struct err err;
    ssize_t n;

    if (!room) {
        end_connection(connection, "it sent too much data at once");
        return;
    }
    n = recv(connection->fd, room, READ_SIZE, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        end_connection(connection, n < 0 && errno != ECONNRESET ? "it cannot be read from" : "");
        return;
    }
    connection->in.n += (size_t)n;
    if (take_messages(connection, &err) < 0)
        end_connection(connection, err.text);
}

static void on_socket_ready(struct watch *watch, uint32_t events)
{
    struct connection *connection = from_watch(watch);

    if (events & WATCH_WRITE)
        flush_connection(connection);
    if (!connection->failed && (events & (WATCH_READ | WATCH_HUP | WATCH_ERROR)))
        receive_messages(connection);
    if (!connection->failed && connection->busy && connection->out.n == 0) {
        connection->busy = false;
        watch_for(connection, false);
        if (connection->events.drained)
            connection->events.drained(connection->events.self);
    }
}

int connection_start(struct connection *connection, struct loop *loop, int fd,
                     const struct connection_events *events, struct err *err)
{
    struct message hello = message_hello();

    *connection = (struct connection){
        .loop = loop,
        .fd = fd,
        .events = *events,
        .in = BUF_INIT(FRAME_HEAD + MESSAGE_MAX + READ_SIZE),
        .out = BUF_INIT(CONNECTION_WAITING_MAX),
    };
    if (watch_start(&connection->watch, loop, fd, WATCH_READ, on_socket_ready, err) < 0) {
        fd_close(&connection->fd);
        return -1;
    }
    return connection_send(connection, &hello, err);
}

int connection_send(struct connection *connection, const struct message *message, struct err *err)
{
    if (connection->failed || connection->closing)
        return 0;
    if (message_encode(&connection->out, message, err) < 0) {
        if (connection->out.n > CONNECTION_BUSY)
            end_connection(connection, "it does not read its replies");
        return -1;
    }
    flush_connection(connection);
    if (connection_is_busy(connection))
        connection->busy = true;
    return 0;
}

bool connection_is_busy(const struct connection *connection)
{
    return connection->out.n > CONNECTION_BUSY;
}

void connection_close(struct connection *connection)
{
    connection->closing = true;
    flush_connection(connection);
}

void connection_done(struct connection *connection)
{
    watch_stop(&connection->watch);
    if (connection->loop)
        timer_clear(loop_timers(connection->loop), &connection->close_timer);
    fd_close(&connection->fd);
    buf_done(&connection->in);
    buf_done(&connection->out);
}
