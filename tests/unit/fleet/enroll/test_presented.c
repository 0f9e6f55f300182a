/* Servers that are not what they should be: a child plays each. */
#include "fleet/enroll/presented.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "test.h"

#define FLOOD ((size_t)1 << 20)
/* Only those who wait for its end have little time: on a busy machine everything takes long. */
#define SHORT_NS (CLOCK_SECOND / 5)
#define LONG_NS  (60 * CLOCK_SECOND)

enum after { HANG_UP, GO_ON, STAY };

static const struct play {
    const char *name, *says;
    enum after after;
    enum presented_protocol protocol;
    enum err_code code;
    const char *words;
} plays[] = {
    { "silent", "", STAY, PRESENTED_NATS, ERR_TIMEOUT, "no answer in time" },
    { "half a greeting", "INFO {", STAY, PRESENTED_NATS, ERR_TIMEOUT, "no answer in time" },
    { "hangs up", "", HANG_UP, PRESENTED_NATS, ERR_INVALID, "closed the connection" },
    { "greets without end", "INFO {", GO_ON, PRESENTED_NATS, ERR_LIMIT, "more than 65536 bytes" },
    { "another protocol", "220 mail.example ESMTP\r\n", STAY, PRESENTED_NATS, ERR_INVALID,
      "not a NATS server" },
    { "garbage for a handshake", "INFO {}\r\n", GO_ON, PRESENTED_NATS, ERR_INVALID, "TLS" },
    { "no handshake", "INFO {}\r\n", STAY, PRESENTED_NATS, ERR_TIMEOUT, "no answer in time" },
    { "plain HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n", HANG_UP, PRESENTED_HTTPS, ERR_INVALID,
      "TLS handshake: " },
};

static void play(int fd, const struct play *play)
{
    char room[4096];

    (void)send(fd, play->says, strlen(play->says), MSG_NOSIGNAL);
    if (play->after == HANG_UP)
        (void)shutdown(fd, SHUT_WR);
    for (size_t sent = 0; play->after == GO_ON && sent < FLOOD; sent += 8)
        if (send(fd, "xxxxxxxx", 8, MSG_NOSIGNAL) < 0)
            break;
    while (recv(fd, room, sizeof(room), 0) > 0)
        ;
    _exit(0);
}

/* One client, in a child; returns a socket that is about to be connected to it. */
static int start_play(const struct play *which, pid_t *ret_child)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    AUTO_FD int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    CHECK(bind(server, (struct sockaddr *)&address, size) == 0 && listen(server, 8) == 0);
    CHECK(getsockname(server, (struct sockaddr *)&address, &size) == 0);
    *ret_child = fork();
    if (*ret_child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(fd); /* or it would never end */
        play(accept(server, NULL, NULL), which);
    }
    (void)connect(fd, (struct sockaddr *)&address, size);
    return fd;
}

TEST(a_server_that_does_not_speak_tls_is_left_with_the_reason_and_in_time)
{
    for (size_t i = 0; i < ARRAY_LEN(plays); i++) {
        struct certificate certificate = { 0 };
        int64_t timeout = plays[i].code == ERR_TIMEOUT ? SHORT_NS : LONG_NS;
        pid_t child;
        int fd = start_play(&plays[i], &child);
        struct err err = { 0 };

        if (presented_fetch(fd, plays[i].protocol, "localhost", timeout, &certificate, &err) == 0 ||
            err.code != plays[i].code || !strstr(err.text, plays[i].words))
            fail_msg("%s: %d '%s'", plays[i].name, (int)err.code, err.text);
        CHECK(!certificate.x509);
        (void)close(fd);
        CHECK(waitpid(child, NULL, 0) == child);
    }
}

TEST(a_port_that_nobody_listens_on_is_told_from_one_that_answers)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    AUTO_FD int plan_binding = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct certificate certificate = { 0 };
    struct err err;

    CHECK(bind(plan_binding, (struct sockaddr *)&address, size) == 0); /* and does not listen */
    CHECK(getsockname(plan_binding, (struct sockaddr *)&address, &size) == 0);
    (void)connect(fd, (struct sockaddr *)&address, size);
    CHECK_INT(presented_fetch(fd, PRESENTED_HTTPS, "localhost", LONG_NS, &certificate, &err), -1);
    CHECK_INT(err.code, ERR_SYSTEM);
}
