#include "core/http/probe.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/http/address.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"

#define CHUNK       4096
#define HEAD_END    "\r\n\r\n"
#define STATUS_HEAD 9 /* "HTTP/1.1 " */
#define STATUS_SIZE 3

struct probe {
    int fd;
    int64_t deadline;
};

static int wait_for_probe(const struct probe *probe, short events, struct err *err)
{
    struct pollfd poll_fd = { .fd = probe->fd, .events = events };
    int64_t left = probe->deadline - clock_now();
    int n = left > 0 ? poll(&poll_fd, 1, (int)(left / CLOCK_MS) + 1) : 0;

    if (n < 0 && errno != EINTR)
        return err_sys(err, errno, "poll");
    return n == 0 ? err_set(err, ERR_TIMEOUT, "no answer in time") : 0;
}

static int send_probe_text(const struct probe *probe, struct str text, struct err *err)
{
    while (text.n > 0) {
        ssize_t n;

        if (wait_for_probe(probe, POLLOUT, err) < 0)
            return -1;
        n = send(probe->fd, text.p, text.n, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_sys(err, errno, "cannot send");
        text = str_from_offset(text, n > 0 ? (size_t)n : 0);
    }
    return 0;
}

static int read_probe_answer(const struct probe *probe, struct buf *out, struct err *err)
{
    char bytes[CHUNK];

    for (;;) {
        ssize_t n;

        if (wait_for_probe(probe, POLLIN, err) < 0)
            return -1;
        n = recv(probe->fd, bytes, sizeof(bytes), 0);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_sys(err, errno, "cannot read");
        if (n > 0)
            buf_add(out, bytes, (size_t)n);
        if (out->full)
            return err_set(err, ERR_LIMIT, "the answer is larger than %d bytes", PROBE_MAX);
    }
}

static int parse_probe_answer(struct arena *arena, struct str text, struct probe_answer *ret,
                              struct err *err)
{
    const char *end = memmem(text.p, text.n, HEAD_END, strlen(HEAD_END));
    int64_t status;

    if (!end || text.n < STATUS_HEAD + STATUS_SIZE || memcmp(text.p, "HTTP/", 5) != 0 ||
        number_parse_int(str_slice(text, STATUS_HEAD, STATUS_SIZE), &status, err) < 0)
        return err_set(err, ERR_INVALID, "the answer is not HTTP");
    end += strlen(HEAD_END);
    ret->status = (int)status;
    ret->body = arena_str(arena, (struct str){ end, text.n - (size_t)(end - text.p) });
    return 0;
}

int probe_get(struct arena *arena, const char *address, const char *path, int64_t timeout,
              struct probe_answer *ret, struct err *err)
{
    const char *request = arena_printf(arena, "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path);
    AUTO_BUF struct buf text = BUF_INIT(PROBE_MAX);
    AUTO_FD int fd = address_connect(address, err);
    const struct probe probe = { .fd = fd, .deadline = clock_now() + timeout };

    if (fd < 0 || send_probe_text(&probe, str_from(request), err) < 0 ||
        read_probe_answer(&probe, &text, err) < 0 ||
        parse_probe_answer(arena, buf_view(&text), ret, err) < 0)
        return err_wrap(err, "'%s'", address);
    return 0;
}
