#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/loop.h"
#include "core/sys/mailbox.h"
#include "core/sys/process.h"
#include "wait.h"

static struct err err;
static struct loop *loop;
static char story[1000];

static void tell(const char *text)
{
    size_t n = strlen(story);

    (void)snprintf(story + n, sizeof(story) - n, "%s ", text);
}

static void on_stop(struct timer *timer)
{
    (void)timer;
    tell("timer");
    loop_stop(loop);
}

TEST(a_timer_ends_a_loop_at_its_time)
{
    struct timer timer = { 0 };
    int64_t began = clock_now();

    loop = loop_new(&err);
    CHECK(loop != NULL);
    timer_set(loop_timers(loop), &timer, began + 20 * CLOCK_MS, on_stop);
    loop_run(loop);
    CHECK(clock_now() - began >= 20 * CLOCK_MS);
    CHECK_STR(story, "timer ");
    loop_free(loop);
}

/* A busy machine may be late, but not every time: the shortest of at least 50 delays, and of more
 * until one is shorter than `good`. */
static int64_t best_delay(int64_t delay, int64_t good)
{
    const int64_t end = clock_now() + 20 * CLOCK_SECOND;
    int64_t best = CLOCK_NEVER;

    for (int i = 0; i < 50 || (best >= good && clock_now() < end); i++) {
        struct timer timer = { 0 };
        int64_t began = clock_now(), took;

        timer_set(loop_timers(loop), &timer, began + delay, on_stop);
        loop_run(loop);
        took = clock_now() - began;
        best = took < best ? took : best;
    }
    return best;
}

TEST(a_timer_of_less_than_a_millisecond_comes_in_time)
{
    int64_t best;

    loop = loop_new(&err);
    best = best_delay(100 * CLOCK_US, CLOCK_MS);
    CHECK(best >= 100 * CLOCK_US);
    CHECK(best < CLOCK_MS);
    loop_free(loop);
}

#define ROUNDS 20000
static int rounds;

static void on_again(struct timer *timer)
{
    if (++rounds == ROUNDS)
        loop_stop(loop);
    else
        timer_set(loop_timers(loop), timer, clock_now() + rounds % 2000, on_again);
}

/* Deadlines of 0 to 2 us pass between any two looks at the clock; the kernel is not to round them.
 */
TEST(a_deadline_that_passes_while_it_is_looked_at_is_due)
{
    struct timer timer = { 0 };

    CHECK_INT(prctl(PR_SET_TIMERSLACK, 1), 0);
    loop = loop_new(&err);
    timer_set(loop_timers(loop), &timer, clock_now(), on_again);
    loop_run(loop);
    CHECK_INT(rounds, ROUNDS);
    loop_free(loop);
}

static void forbid(int call, int errnum)
{
    struct sock_filter lines[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)errnum),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { .len = ARRAY_LEN(lines), .filter = lines };

    CHECK_INT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    CHECK_INT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST(a_kernel_without_the_finer_wait_is_waited_for_in_milliseconds)
{
    loop = loop_new(&err);
    forbid(SYS_epoll_pwait2, ENOSYS);
    /* nearly a millisecond: a deadline that has passed before the wait begins is not waited for */
    CHECK(best_delay(900 * CLOCK_US, CLOCK_NEVER) >= CLOCK_MS);
    CHECK(best_delay(0, CLOCK_SECOND) < CLOCK_SECOND);
    loop_free(loop);
}

/* --- files ------------------------------------------------------------------------------ */

static int pipes[2][2];
static struct watch watches[2];

/* Whichever comes first stops the other, whose event is in the same harvest. */
static void on_first(struct watch *watch, uint32_t events)
{
    CHECK(events & WATCH_READ);
    tell("read");
    watch_stop(&watches[watch == &watches[0] ? 1 : 0]);
    watch_stop(watch);
}

static void on_step(void *self)
{
    tell(self);
}

TEST(a_watch_that_was_stopped_in_the_same_turn_is_not_called)
{
    static char step[] = "step";

    loop = loop_new(&err);
    loop_on_step(loop, on_step, step);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(pipe2(pipes[i], O_CLOEXEC), 0);
        CHECK_INT(watch_start(&watches[i], loop, pipes[i][0], WATCH_READ, on_first, &err), 0);
        CHECK_INT(write(pipes[i][1], "x", 1), 1);
    }
    story[0] = '\0';
    loop_turn(loop);
    CHECK_STR(story, "step read step ");
    watch_stop(&watches[0]); /* again: fine */
    loop_free(loop);
}

TEST(plain_files_cannot_be_watched)
{
    AUTO_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct watch watch = { 0 };

    loop = loop_new(&err);
    CHECK_INT(watch_start(&watch, loop, fd, WATCH_READ, on_first, &err), -1);
    CHECK_HAS(err.text, "Operation not permitted");
    loop_free(loop);
}

static void on_either(struct watch *watch, uint32_t events)
{
    struct watch *other = &watches[watch == &watches[0] ? 1 : 0];

    CHECK(events & WATCH_READ);
    tell("read");
    CHECK_INT(watch_change(other, WATCH_PRI, &err), 0);
}

TEST(a_watch_is_not_called_for_events_it_no_longer_waits_for)
{
    loop = loop_new(&err);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(pipe2(pipes[i], O_CLOEXEC), 0);
        CHECK_INT(watch_start(&watches[i], loop, pipes[i][0], WATCH_READ, on_either, &err), 0);
        CHECK_INT(write(pipes[i][1], "x", 1), 1);
    }
    loop_turn(loop);
    CHECK_STR(story, "read ");
    for (int i = 0; i < 2; i++)
        watch_stop(&watches[i]);
    loop_free(loop);
}

static struct watch *allocated;

/* The event of the other one is in the same harvest; its memory is gone. */
static void on_freed(struct watch *watch, uint32_t events)
{
    (void)watch;
    (void)events;
    tell("read");
    if (allocated) {
        watch_stop(allocated);
        free(allocated);
        allocated = NULL;
    }
}

TEST(the_memory_of_a_stopped_watch_is_free_at_once)
{
    allocated = calloc(1, sizeof(*allocated));
    loop = loop_new(&err);
    for (int i = 0; i < 2; i++) {
        struct watch *watch = i == 0 ? &watches[0] : allocated;

        CHECK_INT(pipe2(pipes[i], O_CLOEXEC), 0);
        CHECK_INT(watch_start(watch, loop, pipes[i][0], WATCH_READ, on_freed, &err), 0);
        CHECK_INT(write(pipes[i][1], "x", 1), 1);
    }
    loop_turn(loop);
    CHECK_STR(story, "read ");
    watch_stop(&watches[0]);
    loop_free(loop);
}

/* More files are ready than one harvest holds. */
#define CROWD 600
static int calls[CROWD];
static struct watch crowd[CROWD];

static void on_crowd(struct watch *watch, uint32_t events)
{
    (void)events;
    calls[watch - crowd]++;
}

TEST(files_that_are_always_ready_do_not_starve_the_others)
{
    int fd = eventfd(1, EFD_CLOEXEC);
    int fds[CROWD];

    loop = loop_new(&err);
    for (int i = 0; i < CROWD; i++) {
        fds[i] = dup(fd);
        CHECK_INT(watch_start(&crowd[i], loop, fds[i], WATCH_READ, on_crowd, &err), 0);
    }
    for (int i = 0; i < 9; i++)
        loop_turn(loop);
    for (int i = 0; i < CROWD; i++) {
        CHECK(calls[i] >= 2 && calls[i] <= 5);
        watch_stop(&crowd[i]);
        (void)close(fds[i]);
    }
    loop_free(loop);
    (void)close(fd);
}

static void on_writable(struct watch *watch, uint32_t events)
{
    CHECK(events & WATCH_WRITE);
    tell("writable");
    CHECK_INT(watch_change(watch, WATCH_READ, &err), 0);
    loop_stop(loop);
}

TEST(a_watch_can_wait_for_something_else)
{
    loop = loop_new(&err);
    CHECK_INT(pipe2(pipes[0], O_CLOEXEC), 0);
    CHECK_INT(watch_start(&watches[0], loop, pipes[0][1], WATCH_READ, on_writable, &err), 0);
    loop_turn(loop);
    CHECK_STR(story, "");
    CHECK_INT(watch_change(&watches[0], WATCH_WRITE, &err), 0);
    loop_run(loop);
    CHECK_STR(story, "writable ");
    loop_turn(loop);
    CHECK_STR(story, "writable ");
    watch_stop(&watches[0]);
    loop_free(loop);
}

/* --- steps, signals, mail ------------------------------------------------------------------ */

static struct timer first, second;

static void on_one(struct timer *timer)
{
    tell(timer == &first ? "first" : "second");
}

TEST(the_step_runs_after_all_callbacks_of_a_turn)
{
    static char step[] = "step";

    clock_fake(0, 0);
    loop = loop_new(&err);
    loop_on_step(loop, on_step, step);
    timer_set(loop_timers(loop), &first, 10, on_one);
    timer_set(loop_timers(loop), &second, 20, on_one);
    clock_turn(20);
    story[0] = '\0';
    loop_turn(loop);
    CHECK_INT(strncmp(story, "first second step", 17), 0);
    loop_free(loop);
}

static void on_signal(void *self, int signo)
{
    *(int *)self = signo;
    loop_stop(loop);
}

TEST(signals_arrive_in_the_loop)
{
    int seen = 0;

    loop = loop_new(&err);
    CHECK_INT(loop_on_signal(loop, SIGUSR1, on_signal, &seen, &err), 0);
    CHECK_INT(loop_on_signal(loop, SIGKILL, on_signal, &seen, &err), -1);
    CHECK_INT(kill(getpid(), SIGUSR1), 0);
    loop_run(loop);
    CHECK_INT(seen, SIGUSR1);
    loop_free(loop);
}

static void count_signal(void *self, int signo)
{
    (void)signo;
    ++*(int *)self;
}

/* More than one read takes. Those of the real-time kind are queued, so each one counts. */
TEST(no_signal_is_lost_and_every_watcher_is_called)
{
    int here = 0, there = 0;

    loop = loop_new(&err);
    CHECK_INT(loop_on_signal(loop, SIGRTMIN, count_signal, &here, &err), 0);
    CHECK_INT(loop_on_signal(loop, SIGRTMIN, count_signal, &there, &err), 0);
    for (int i = 0; i < 50; i++)
        CHECK_INT(sigqueue(getpid(), SIGRTMIN, (union sigval){ 0 }), 0);
    for (int i = 0; i < 50 && here < 50; i++)
        loop_turn(loop);
    CHECK_INT(here, 50);
    CHECK_INT(there, 50);
    loop_free(loop);
}

static bool is_blocked(int signo)
{
    sigset_t now;

    (void)pthread_sigmask(SIG_SETMASK, NULL, &now);
    return sigismember(&now, signo);
}

TEST(a_signal_that_arrives_as_the_loop_ends_does_not_end_the_process)
{
    int seen = 0;

    loop = loop_new(&err);
    CHECK_INT(loop_on_signal(loop, SIGTERM, count_signal, &seen, &err), 0);
    CHECK(is_blocked(SIGTERM));
    CHECK_INT(kill(getpid(), SIGTERM), 0);
    loop_free(loop);
    CHECK(!is_blocked(SIGTERM));
    CHECK_INT(seen, 0);
}

TEST(a_signal_that_was_blocked_before_stays_blocked)
{
    int seen = 0;
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR2);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    loop = loop_new(&err);
    CHECK_INT(loop_on_signal(loop, SIGUSR2, count_signal, &seen, &err), 0);
    CHECK_INT(loop_on_signal(loop, SIGUSR1, on_signal, &seen, &err), 0);
    loop_free(loop);
    CHECK(is_blocked(SIGUSR2));
    CHECK(!is_blocked(SIGUSR1));
}

/* It prints its own mask, before any of its own code could change it. */
TEST(a_child_of_a_loop_has_no_signal_blocked)
{
    const char *const argv[] = { "grep", "SigBlk", "/proc/self/status", NULL };
    const struct process_spec spec = { .argv = argv };
    const struct process_bounds bounds = { .timeout = 10 * CLOCK_SECOND, .output_max = 1000 };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct process_result result;
    int seen = 0;

    loop = loop_new(&err);
    CHECK_INT(loop_on_signal(loop, SIGTERM, count_signal, &seen, &err), 0);
    CHECK_INT(process_run(&spec, &bounds, NULL, &arena, &result, &err), 0);
    CHECK_HAS(result.out.p, "0000000000000000");
    loop_free(loop);
}

static void on_interrupt(int signo)
{
    (void)signo;
}

/* The handler is not of the loop and interrupts its wait; the timer comes all the same. */
TEST(an_interrupted_wait_continues)
{
    const struct itimerval soon = { .it_value = { .tv_usec = 1000 },
                                    .it_interval = { .tv_usec = 1000 } };
    const struct sigaction action = { .sa_handler = on_interrupt };
    struct timer timer = { 0 };
    int64_t began = clock_now();

    CHECK_INT(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_INT(setitimer(ITIMER_REAL, &soon, NULL), 0);
    loop = loop_new(&err);
    timer_set(loop_timers(loop), &timer, began + 50 * CLOCK_MS, on_stop);
    loop_run(loop);
    CHECK(clock_now() - began >= 50 * CLOCK_MS);
    CHECK_INT(setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL), 0);
    loop_free(loop);
}

static struct mailbox box;

static void on_mail(struct watch *watch, uint32_t events)
{
    (void)watch;
    (void)events;
    CHECK(mailbox_take(&box) != NULL);
    tell("mail");
    loop_stop(loop);
}

static void *send_mail(void *arg)
{
    (void)mailbox_post(&box, arg);
    return NULL;
}

TEST(mail_from_a_thread_wakes_the_loop)
{
    struct watch watch = { 0 };
    struct mail mail;
    pthread_t thread;

    loop = loop_new(&err);
    CHECK_INT(mailbox_init(&box, 0, &err), 0);
    CHECK_INT(watch_start(&watch, loop, box.fd, WATCH_READ, on_mail, &err), 0);
    CHECK_INT(pthread_create(&thread, NULL, send_mail, &mail), 0);
    loop_run(loop);
    CHECK_STR(story, "mail ");
    CHECK_INT(pthread_join(thread, NULL), 0);
    watch_stop(&watch);
    loop_free(loop);
    mailbox_done(&box);
}

static int turns;

static void on_turn(void *self)
{
    (void)self;
    turns++;
}

TEST(an_idle_loop_does_not_turn)
{
    struct timer timer = { 0 };

    loop = loop_new(&err);
    loop_on_step(loop, on_turn, NULL);
    timer_set(loop_timers(loop), &timer, clock_now() + 200 * CLOCK_MS, on_stop);
    loop_run(loop);
    /* who is stopped and goes on turns once more; who does not wait, thousands of times */
    CHECK(turns <= 20);
    loop_free(loop);
}
