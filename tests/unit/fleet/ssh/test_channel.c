#include "fleet/ssh/channel.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/data/frame.h"
#include "core/sys/cancel.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "test.h"

/* One end that we write to, and a channel that reads it. */
struct wire {
    int ends[2];
    struct ssh_channel channel;
};

static void open_wire(struct wire *wire)
{
    assert_int_equal(pipe2(wire->ends, O_CLOEXEC), 0);
    ssh_channel_init(&wire->channel, wire->ends[0], wire->ends[1], -1);
}

static void close_wire(struct wire *wire)
{
    ssh_channel_done(&wire->channel);
    fd_close(&wire->ends[0]);
    fd_close(&wire->ends[1]);
}

/* What the bytes are taken for, when nothing follows them. */
static int take_bytes(struct str bytes, size_t max, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct wire wire;
    struct str payload;
    int rc;

    open_wire(&wire);
    assert_int_equal(ssh_channel_write(&wire.channel, bytes, err), 0);
    fd_close(&wire.ends[1]);
    rc = ssh_channel_take(&wire.channel, SSH_WANT, max, &arena, &payload, err);
    close_wire(&wire);
    return rc;
}

TEST(messages_and_lines_arrive_as_they_were_sent)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct wire wire;
    struct str got;
    struct err err;

    open_wire(&wire);
    assert_int_equal(ssh_channel_write(&wire.channel, STR("first\nsecond\n"), &err), 0);
    assert_int_equal(ssh_channel_send(&wire.channel, SSH_WANT, STR("yny"), &err), 0);
    assert_int_equal(ssh_channel_send(&wire.channel, SSH_ANSWER, STR(""), &err), 0);
    assert_int_equal(ssh_channel_line(&wire.channel, 10, &arena, &got, &err), 0);
    assert_string_equal(got.p, "first");
    assert_int_equal(ssh_channel_line(&wire.channel, 10, &arena, &got, &err), 0);
    assert_string_equal(got.p, "second");
    assert_int_equal(ssh_channel_take(&wire.channel, SSH_WANT, 3, &arena, &got, &err), 0);
    assert_string_equal(got.p, "yny");
    assert_int_equal(ssh_channel_take(&wire.channel, SSH_ANSWER, 3, &arena, &got, &err), 0);
    assert_int_equal(got.n, 0);
    close_wire(&wire);
}

TEST(damage_another_kind_too_much_and_an_early_end_are_refused)
{
    char frame[FRAME_HEAD + 3] = { [FRAME_HEAD] = 'y', 'n', 'y' };
    struct err err;

    frame_head_encode(SSH_WANT, 0, STR("yny"), frame);
    assert_int_equal(take_bytes(str_bytes(frame, sizeof(frame)), 3, &err), 0);
    assert_int_equal(take_bytes(str_bytes(frame, sizeof(frame)), 2, &err), -1);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_int_equal(take_bytes(str_bytes(frame, sizeof(frame) - 1), 3, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    for (size_t i = 0; i < sizeof(frame); i++) {
        frame[i] ^= 1;
        assert_int_equal(take_bytes(str_bytes(frame, sizeof(frame)), 3, &err), -1);
        assert_int_equal(err.code, ERR_INVALID);
        frame[i] ^= 1;
    }
    frame_head_encode(SSH_HELLO, 0, STR("yny"), frame);
    assert_int_equal(take_bytes(str_bytes(frame, sizeof(frame)), 3, &err), -1);
    assert_int_equal(err.code, ERR_INVALID);
}

TEST(a_line_without_an_end_is_refused_at_its_limit)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct wire wire;
    struct str line;
    struct err err;

    open_wire(&wire);
    assert_int_equal(ssh_channel_write(&wire.channel, STR("0123456789"), &err), 0);
    assert_int_equal(ssh_channel_line(&wire.channel, 9, &arena, &line, &err), -1);
    assert_int_equal(err.code, ERR_LIMIT);
    close_wire(&wire);
}

TEST(silence_and_a_raised_token_end_a_wait)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct cancel cancel;
    struct wire wire;
    struct str line;
    struct err err;

    open_wire(&wire);
    wire.channel.idle = CLOCK_MS;
    assert_int_equal(ssh_channel_line(&wire.channel, 9, &arena, &line, &err), -1);
    assert_int_equal(err.code, ERR_TIMEOUT);
    assert_int_equal(cancel_init(&cancel, &err), 0);
    cancel_raise(&cancel);
    wire.channel.cancel = &cancel;
    wire.channel.idle = CLOCK_NEVER;
    assert_int_equal(ssh_channel_line(&wire.channel, 9, &arena, &line, &err), -1);
    assert_int_equal(err.code, ERR_CANCELED);
    cancel_done(&cancel);
    close_wire(&wire);
}
