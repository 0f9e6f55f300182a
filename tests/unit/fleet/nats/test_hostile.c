/* A malicious server: a child that plays a script to each client. */
#include <poll.h>
#include <sys/resource.h>

#include "fleet/nats/core.h"
#include "fleet/nats/tls.h"
#include "scene.h"
#include "server.h"

#define INFO_LINE                                                                                  \
    "INFO "                                                                                        \
    "{\"server_id\":\"x\",\"version\":\"2.9.10\",\"max_payload\":1048576,\"headers\":true}\r\n"
#define MUCH      ((size_t)32 << 20)
#define GROWTH_KB (24 << 10)

enum act {
    SAY,      /* the text */
    SAY_SLOW, /* the same, byte by byte */
    FILL,     /* 32 MiB of the text, over and over */
    AWAIT,    /* until the text was heard */
    STAY,     /* say nothing more */
    QUIT,
};

struct step {
    enum act act;
    const char *text;
};

#define STEPS_MAX 6

struct play {
    const char *name;
    struct step steps[STEPS_MAX];
    const char *error;
};

static void say(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);

        if (sent <= 0)
            _exit(0);
        text += sent;
        n -= (size_t)sent;
    }
}

/* In few system calls: a call for each word would take a minute. */
static void fill(int fd, const char *text)
{
    static char block[1 << 16];
    const size_t length = strlen(text), n = sizeof(block) / length * length;

    for (size_t i = 0; i < n; i++)
        block[i] = text[i % length];
    for (size_t sent = 0; sent < MUCH; sent += n)
        say(fd, block, n);
}

static void await(int fd, const char *text)
{
    static char heard[1 << 16];
    size_t n = 0;

    while (n + 1 < sizeof(heard) && !strstr(heard, text)) {
        ssize_t got = recv(fd, heard + n, sizeof(heard) - 1 - n, 0);

        if (got <= 0)
            _exit(0);
        n += (size_t)got;
        heard[n] = '\0';
    }
}

static void stay(int fd)
{
    char room[4096];

    while (recv(fd, room, sizeof(room), 0) > 0)
        ;
    _exit(0);
}

static void play_steps(int fd, const struct step *steps)
{
    for (size_t i = 0; i < STEPS_MAX && steps[i].text; i++) {
        size_t n = strlen(steps[i].text);

        if (steps[i].act == SAY)
            say(fd, steps[i].text, n);
        for (size_t j = 0; steps[i].act == SAY_SLOW && j < n; j++) {
            say(fd, steps[i].text + j, 1);
            wait_a_little();
        }
        if (steps[i].act == FILL)
            fill(fd, steps[i].text);
        if (steps[i].act == AWAIT)
            await(fd, steps[i].text);
        if (steps[i].act == STAY)
            stay(fd);
    }
    _exit(0);
}

/* One client, in a child; returns the port. */
static int start_play(const struct step *steps)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 8) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    if (fork() == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        play_steps(accept(fd, NULL, NULL), steps);
    }
    (void)close(fd);
    return ntohs(address.sin_port);
}

/* Only those who wait for the end of a time have little of it: on a busy machine everything takes
 * long. */
#define SHORT_NS (CLOCK_SECOND)
#define LONG_NS  (60 * CLOCK_SECOND)

static bool waits_for_timeout(const struct play *play)
{
    return strstr(play->error, "in time");
}

static void connect_to_play(struct scene *scene, struct watched *conn, const struct play *play,
                            struct nats_tls *tls, int64_t timeout)
{
    bool is_silent = strstr(play->error, "does not answer pings");
    char url[64];
    const char *urls[] = { url };

    (void)snprintf(url, sizeof(url), "127.0.0.1:%d", start_play(play->steps));
    watched_start(scene, conn,
                  &(struct nats_options){ .servers = urls,
                                          .server_count = 1,
                                          .plain = !tls,
                                          .tls = tls,
                                          .attempts_max = 1,
                                          .out_max = 1 << 20,
                                          .connect_timeout = timeout,
                                          .ping_interval = is_silent ? 100 * CLOCK_MS : LONG_NS,
                                          .backoff_min = CLOCK_MS });
}

/* One attempt; false: the play had no time to come to its point. */
static bool try_play(const struct play *play, struct nats_tls *tls, int64_t timeout)
{
    struct watched conn;
    struct scene scene;
    bool reached;

    scene_begin(&scene);
    connect_to_play(&scene, &conn, play, tls, timeout);
    SCENE_RUN(&scene, conn.counts[NATS_EVENT_CLOSED] == 1);
    CHECK_INT(conn.counts[NATS_EVENT_CONNECTED], 0);
    reached = strstr(conn.error, play->error);
    if (!reached && (!waits_for_timeout(play) || timeout >= LONG_NS))
        CHECK_HAS(conn.error, play->error);
    nats_conn_free(conn.conn);
    scene_end(&scene);
    return reached;
}

static void fail_attempt(const struct play *play, struct nats_tls *tls)
{
    int64_t timeout = waits_for_timeout(play) ? SHORT_NS : LONG_NS;

    while (!try_play(play, tls, timeout))
        timeout *= 4;
}

static long peak_kb(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

#define LOGIN                                                                                      \
    { SAY, INFO_LINE }, { AWAIT, "PING\r\n" },                                                     \
    {                                                                                              \
        SAY, "PONG\r\n"                                                                            \
    }

/* Before the login: the attempt fails. */
static const struct play early[] = {
    { "nothing", { { STAY, "" } }, "no INFO in time" },
    { "closes at once", { { QUIT, "" } }, "the server closed the connection" },
    { "garbage", { { SAY, "\x16\x03\x03\n" } }, "protocol error: unknown operation" },
    { "endless line",
      { { FILL, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" } },
      "protocol error: a line is longer than 65536 bytes" },
    { "endless INFO",
      { { SAY, "INFO {" }, { FILL, "\"a\":1,\"aaaaaaaaaaaaaa\":2," } },
      "protocol error: a line is longer than 65536 bytes" },
    { "INFO that is not JSON",
      { { SAY, "INFO {nonsense}\r\n" }, { STAY, "" } },
      "protocol error: INFO" },
    { "INFO that is a list",
      { { SAY, "INFO [1]\r\n" }, { STAY, "" } },
      "protocol error: INFO is not an object" },
    { "slow INFO",
      { { SAY_SLOW, INFO_LINE INFO_LINE INFO_LINE INFO_LINE INFO_LINE INFO_LINE }, { STAY, "" } },
      "in time" },
    { "messages before the login",
      { { SAY, "MSG a 1 1\r\nx\r\n" }, { STAY, "" } },
      "protocol error: unexpected operation" },
    { "no answer to the login",
      { { SAY, INFO_LINE }, { STAY, "" } },
      "no answer to the login in time" },
    { "complaint",
      { { SAY, INFO_LINE "-ERR 'Authorization Violation'\r\n" }, { QUIT, "" } },
      "the server says: Authorization Violation" },
    { "INFO of many servers",
      { { SAY, "INFO {\"connect_urls\":[\"a\",1,null,\"b:0\",\"[::\",\"c:99999\"]}\r\n" },
        { STAY, "" } },
      "no answer to the login in time" },
};

TEST(a_hostile_server_fails_the_attempt_with_a_reason_and_little_memory)
{
    long before = 0;

    for (size_t i = 0; i < ARRAY_LEN(early); i++) {
        fail_attempt(&early[i], NULL);
        if (i == 0)
            before = peak_kb();
    }
    CHECK(peak_kb() - before < GROWTH_KB);
}

/* After the login: the connection is given up. */
static const struct play late[] = {
    { "giant payload",
      { LOGIN, { SAY, "MSG a 1 9999999999\r\n" }, { STAY, "" } },
      "payload of 9999999999 bytes, limit is 8388608" },
    { "negative payload",
      { LOGIN, { SAY, "MSG a 1 -5\r\n" }, { STAY, "" } },
      "payload is not a number" },
    { "header longer than the message",
      { LOGIN, { SAY, "HMSG a 1 10 5\r\n" }, { STAY, "" } },
      "header of 10 bytes, limit is 5" },
    { "payload without an end",
      { LOGIN, { SAY, "MSG a 1 3\r\nabcdef\r\n" }, { STAY, "" } },
      "a payload is longer than announced" },
    { "half a message, for ever",
      { LOGIN, { SAY, "MSG a 1 5000000\r\nabc" }, { STAY, "" } },
      "the server does not answer pings" },
    { "silence", { LOGIN, { STAY, "" } }, "the server does not answer pings" },
    { "pongs that nobody asked for",
      { LOGIN, { FILL, "PONG\r\n" }, { QUIT, "" } },
      "the server closed the connection" },
    { "pings without end",
      { LOGIN, { FILL, "PING\r\n" }, { QUIT, "" } },
      "the server sends pings and reads no answers" },
    { "messages for nobody",
      { LOGIN, { FILL, "MSG a 99 3\r\nabc\r\n" }, { QUIT, "" } },
      "the server closed the connection" },
    { "errors without end",
      { LOGIN, { FILL, "-ERR 'Permissions Violation for Publish to \"\n" }, { QUIT, "" } },
      "" },
};

TEST(a_server_that_turns_hostile_is_left_with_a_reason_and_little_memory)
{
    long before = 0;

    for (size_t i = 0; i < ARRAY_LEN(late); i++) {
        struct watched conn;
        struct scene scene;

        scene_begin(&scene);
        connect_to_play(&scene, &conn, &late[i], NULL, LONG_NS);
        SCENE_RUN(&scene, conn.counts[NATS_EVENT_DISCONNECTED] == 1);
        CHECK_INT(conn.counts[NATS_EVENT_CONNECTED], 1);
        CHECK_HAS(conn.broken, late[i].error);
        nats_conn_free(conn.conn);
        scene_end(&scene);
        if (i == 0)
            before = peak_kb();
    }
    CHECK(peak_kb() - before < GROWTH_KB);
}

#define TLS_INFO "INFO {\"tls_required\":true}\r\n"

static const struct play with_tls[] = {
    { "plain words instead of TLS",
      { { SAY, TLS_INFO }, { AWAIT, "" }, { SAY, "PONG\r\nPONG\r\n" }, { STAY, "" } },
      "" },
    { "words between INFO and TLS",
      { { SAY, TLS_INFO "PING\r\n" }, { STAY, "" } },
      "protocol error: data between INFO and TLS" },
    { "no handshake", { { SAY, TLS_INFO }, { STAY, "" } }, "no TLS handshake in time" },
    { "no TLS at all", { { SAY, INFO_LINE }, { STAY, "" } }, "the server does not offer TLS" },
    { "garbage in the handshake",
      { { SAY, TLS_INFO }, { AWAIT, "\x16" }, { FILL, "garbage " } },
      "TLS handshake: " },
};

TEST(a_hostile_server_does_not_get_past_tls)
{
    for (size_t i = 0; i < ARRAY_LEN(with_tls); i++) {
        struct err err;
        struct nats_tls *tls = nats_tls_new(&(struct nats_tls_options){ 0 }, &err);

        fail_attempt(&with_tls[i], tls);
        nats_tls_free(tls);
    }
}
