#include "kepler/control/connection.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "kepler/control/message.h"
#include "test.h"

/* More than any socket takes at once. */
#define MUCH (4 * CONNECTION_BUSY)

struct side {
    int drained;
};

static void on_message(void *self, const struct message *message)
{
    (void)self;
    (void)message;
}

static void on_drained(void *self)
{
    ((struct side *)self)->drained++;
}

static void on_closed(void *self, const char *why)
{
    (void)self;
    CHECK_STR(why, "");
}

static void send_text(struct connection *connection, size_t n)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    char *text = memset(arena_alloc(&arena, n + 1), 'x', n);
    struct err err;

    text[n] = '\0';
    CHECK_INT(connection_send(connection,
                              &(struct message){ MESSAGE_EVENT, 1, "lines",
                                                 message_body(&arena, "text", text), NULL },
                              &err),
              0);
}

/* All that is there; true: there was something. */
static bool swallow(int fd)
{
    static char bytes[1 << 16];
    bool any = false;

    while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        any = true;
    return any;
}

TEST(drained_is_reported_even_if_another_message_flushed_the_rest)
{
    const struct connection_events events = { .message = on_message,
                                              .drained = on_drained,
                                              .closed = on_closed };
    struct connection connection;
    struct connection_events ours = events;
    struct side side = { 0 };
    struct loop *loop;
    struct err err;
    int ends[2];

    ours.self = &side;
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    loop = loop_new(&err);
    CHECK_INT(connection_start(&connection, loop, ends[0], &ours, &err), 0);
    send_text(&connection, MUCH);
    CHECK(connection_is_busy(&connection));
    while (connection.out.n > 0) { /* no turn of the loop comes in between */
        CHECK(swallow(ends[1]));
        send_text(&connection, 1);
    }
    CHECK(!connection_is_busy(&connection));
    CHECK_INT(side.drained, 0); /* never from within a call of the owner */
    for (int i = 0; i < 3; i++)
        loop_turn(loop);
    CHECK_INT(side.drained, 1);
    CHECK(!connection.writing);
    connection_done(&connection);
    (void)close(ends[1]);
    loop_free(loop);
}
