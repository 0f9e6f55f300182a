#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "kepler/monitor/sampler.h"
#include "core/sys/clock.h"

static struct arena arena = ARENA_INIT;

static pid_t start_child(bool busy)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            if (!busy)
                (void)pause();
    return pid;
}

static void end_child(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* Until the child has used so much of a processor. */
static void burn(clockid_t clock, int64_t ns)
{
    const struct timespec pause = { 0, 1000000 };
    struct timespec used = { 0 };

    while (used.tv_sec * CLOCK_SECOND + used.tv_nsec < ns) {
        (void)nanosleep(&pause, NULL);
        CHECK_INT(clock_gettime(clock, &used), 0);
    }
}

TEST(a_busy_process_uses_cpu_and_a_waiting_one_does_not)
{
    const pid_t busy = start_child(true), idle = start_child(false);
    const struct sampler_target targets[] = { { "busy", busy, NULL }, { "idle", idle, NULL } };
    struct sampler sampler = { 0 };
    struct usage_metrics found;
    clockid_t clock;

    CHECK_INT(clock_getcpuclockid(busy, &clock), 0);
    sampler_take(&sampler, targets, 2, &arena, &found);
    burn(clock, 300 * CLOCK_MS);
    sampler_take(&sampler, targets, 2, &arena, &found);
    CHECK_INT(found.list.n, 2);
    CHECK_STR(found.list.p[0].service, "busy");
    CHECK(found.list.p[0].cpu_percent > 1 && found.list.p[0].cpu_percent < 200);
    CHECK(found.list.p[1].cpu_percent < 1);
    CHECK(found.list.p[0].memory_rss > 0);
    CHECK(found.list.p[0].memory_rss < found.list.p[0].memory_vss);
    CHECK_INT(found.list.p[0].pids.list->count, 1);
    CHECK_INT(found.list.p[0].pids.list->items[0].i, busy);
    end_child(busy);
    end_child(idle);
    sampler_done(&sampler);
}

TEST(all_descendants_of_the_main_process_are_counted)
{
    const pid_t main = fork();
    const struct sampler_target target = { "web", main, NULL };
    const struct timespec pause = { 0, 1000000 };
    struct sampler sampler = { 0 };
    struct usage_metrics found = { VEC_INIT };

    if (main == 0) {
        pid_t child = start_child(false);

        (void)waitpid(child, NULL, 0);
        _exit(0);
    }
    while (found.list.n == 0 || found.list.p[0].pids.list->count < 2) {
        (void)nanosleep(&pause, NULL);
        sampler_take(&sampler, &target, 1, &arena, &found);
    }
    CHECK_INT(found.list.p[0].pids.list->items[0].i, main);
    end_child((pid_t)found.list.p[0].pids.list->items[1].i); /* whose parent reaps it */
    end_child(main);
    sampler_done(&sampler);
}

TEST(a_service_without_processes_has_no_metric)
{
    const pid_t pid = start_child(false);
    const struct sampler_target targets[] = { { "gone", pid, NULL },
                                              { "none", 0, NULL },
                                              { "group", 0, "/sys/fs/cgroup/not-there" } };
    struct sampler sampler = { 0 };
    struct usage_metrics found;

    end_child(pid);
    sampler_take(&sampler, targets, 3, &arena, &found);
    CHECK_INT(found.list.n, 0);
    sampler_done(&sampler);
}
