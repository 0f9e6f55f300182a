#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/loop.h"
#include "sys/mailbox.h"
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
