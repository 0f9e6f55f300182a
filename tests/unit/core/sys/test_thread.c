#include "test.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/sys/fd.h"
#include "core/sys/thread.h"

#define STACK_SIZE ((size_t)256 << 10)

static void *read_mask(void *arg)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, arg);
    return NULL;
}

TEST(a_thread_blocks_every_signal_except_its_own_faults)
{
    sigset_t of_thread, of_starter;
    pthread_t thread;

    CHECK_INT(thread_start(&thread, STACK_SIZE, read_mask, &of_thread), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK(sigismember(&of_thread, SIGINT) && sigismember(&of_thread, SIGTERM));
    CHECK(sigismember(&of_thread, SIGCHLD) && sigismember(&of_thread, SIGPIPE));
    CHECK(!sigismember(&of_thread, SIGSEGV) && !sigismember(&of_thread, SIGABRT));
    (void)pthread_sigmask(SIG_SETMASK, NULL, &of_starter);
    CHECK(!sigismember(&of_starter, SIGINT));
}

static void *wait_for_byte(void *arg)
{
    char byte;

    (void)!read(*(int *)arg, &byte, 1);
    return NULL;
}

TEST(a_signal_blocked_after_a_thread_started_reaches_its_waiter)
{
    struct signalfd_siginfo arrived = { 0 };
    sigset_t interrupt;
    pthread_t thread;
    int pipes[2];

    CHECK_INT(pipe(pipes), 0);
    CHECK_INT(thread_start(&thread, STACK_SIZE, wait_for_byte, &pipes[0]), 0);
    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, &interrupt, NULL);
    AUTO_FD int fd = signalfd(-1, &interrupt, SFD_CLOEXEC);
    CHECK_INT(kill(getpid(), SIGINT), 0);
    CHECK_INT(read(fd, &arrived, sizeof(arrived)), sizeof(arrived));
    CHECK_INT(arrived.ssi_signo, SIGINT);
    CHECK_INT(write(pipes[1], "", 1), 1);
    CHECK_INT(pthread_join(thread, NULL), 0);
}
