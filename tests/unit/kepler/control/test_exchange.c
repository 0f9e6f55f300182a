#include "kepler/control/exchange.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "kepler/control/home.h"
#include "core/sys/clock.h"
#include "core/sys/path.h"
#include "core/sys/pool.h"
#include "test.h"
#include "wait.h"

#define PATIENCE (10 * CLOCK_SECOND)

static struct home home;
static atomic_bool second_ran, answered_late;

/* A daemon that refuses its client, but only after another worker has run. */
static void *serve(void *arg)
{
    const int64_t deadline = clock_real() + PATIENCE;
    int fd = accept(*(int *)arg, NULL, NULL);
    char request[4096];

    (void)!read(fd, request, sizeof(request));
    while (!atomic_load(&second_ran) && clock_real() < deadline)
        wait_a_little();
    atomic_store(&answered_late, atomic_load(&second_ran));
    (void)close(fd);
    return NULL;
}

static int listen_at(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(strlen(path) < sizeof(at.sun_path));
    memcpy(at.sun_path, path, strlen(path) + 1);
    CHECK_INT(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
    CHECK_INT(listen(fd, 1), 0);
    return fd;
}

static void ask(void *arg)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct exchange exchange = { &arena, &home, NULL, 10 * PATIENCE };
    const struct request_ask args = { 0 };
    struct message answer;

    (void)exchange_ask(&exchange, REQUEST_LIST, &args, &answer, arg);
}

static void run_second(void *arg)
{
    (void)arg;
    atomic_store(&second_ran, true);
}

TEST(a_worker_waiting_for_the_daemon_does_not_block_others)
{
    const struct pool_options options = { .active = 1, .limit = 2 };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err, why = { 0 };
    struct pool *pool = pool_new(&options, &err);
    pthread_t thread;
    int listener;

    home.socket = path_join(&arena, test_folder(), "sock");
    listener = listen_at(home.socket);
    CHECK_INT(pthread_create(&thread, NULL, serve, &listener), 0);
    pool_submit(pool, ask, &why);
    pool_submit(pool, run_second, NULL);
    pool_drain(pool);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK(atomic_load(&answered_late));
    CHECK_INT(why.code, ERR_NOT_FOUND); /* it went away */
    pool_free(pool);
    (void)close(listener);
}
