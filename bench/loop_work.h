/*
 * loop_work - what bench/loop.py asks of an event loop. driver_loop.c and driver_uv.c each say what
 * an ear (a watched file) and a bell (a timer) are and how their loop turns, then include this; so
 * both are compiled with the same work around them.
 *
 *     pass FDS N      one byte goes round FDS watched pipes, N steps: one event in each turn
 *     crowd FDS N     all of FDS pipes are ready in every turn, N events in all
 *     watch - N       a file is watched, heard once and forgotten, N times
 *     timers COUNT N  of COUNT timers that are set, one is stopped and set anew, N times
 *     short - N       a timer of 100 microseconds, N times, one after the other
 *     memory FDS -    FDS files are watched and heard once
 *
 * The including file has defined before:
 *     struct ear { int fd; ... }   loop_open loop_go loop_halt
 *     struct bell { ... }          ear_open ear_close bell_set bell_clear
 * and calls on_ear and on_bell.
 */
#ifndef BENCH_LOOP_WORK_H
#define BENCH_LOOP_WORK_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define SHORT_US 100
#define FAR_US   3600000000

static struct ear *ears;
static struct bell *bells;
static int *ends; /* where to write to wake ear i */
static long count, left;
static void (*hear)(struct ear *ear);

static void on_ear(struct ear *ear)
{
    hear(ear);
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void *room(size_t n, size_t size)
{
    void *p = calloc(n, size);

    return p ? p : (fail("memory"), p);
}

static void allow_files(void)
{
    struct rlimit limit;

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void poke(long i)
{
    if (write(ends[i], "x", 1) != 1)
        fail("write");
}

static void drain(const struct ear *ear)
{
    char c;

    if (read(ear->fd, &c, 1) != 1)
        fail("read");
}

static void open_pipes(long n)
{
    ears = room((size_t)n, sizeof(*ears));
    ends = room((size_t)n, sizeof(*ends));
    for (long i = 0; i < n; i++) {
        int fds[2];

        if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
            fail("pipe");
        ends[i] = fds[1];
        ear_open(&ears[i], fds[0]);
    }
}

/* --- pass and crowd ---------------------------------------------------------------------- */

static void pass_on(struct ear *ear)
{
    drain(ear);
    if (--left <= 0)
        loop_halt();
    else
        poke((ear - ears + 1) % count);
}

static void do_pass(void)
{
    hear = pass_on;
    open_pipes(count);
    poke(0);
    loop_go();
}

static void answer(struct ear *ear)
{
    drain(ear);
    if (--left <= 0)
        loop_halt();
    poke(ear - ears);
}

static void do_crowd(void)
{
    hear = answer;
    open_pipes(count);
    for (long i = 0; i < count; i++)
        poke(i);
    loop_go();
}

/* --- watch -------------------------------------------------------------------------------- */

static int ready_fd;

static void watch_again(struct ear *ear)
{
    ear_close(ear);
    if (--left <= 0)
        loop_halt();
    else
        ear_open(ear, ready_fd);
}

static void do_watch(void)
{
    hear = watch_again;
    ready_fd = eventfd(1, EFD_CLOEXEC);
    ears = room(1, sizeof(*ears));
    ear_open(&ears[0], ready_fd);
    loop_go();
}

/* --- timers ------------------------------------------------------------------------------- */

static void on_bell(struct bell *bell)
{
    if (--left <= 0)
        loop_halt();
    else
        bell_set(bell, SHORT_US);
}

static void do_timers(void)
{
    uint32_t random = 1;

    bells = room((size_t)count, sizeof(*bells));
    for (long i = 0; i < count; i++)
        bell_set(&bells[i], FAR_US + i * 1000);
    for (; left > 0; left--) {
        random = random * 1664525 + 1013904223;
        bell_clear(&bells[random % (uint32_t)count]);
        bell_set(&bells[random % (uint32_t)count], FAR_US + random % 1000000000);
    }
}

static void do_short(void)
{
    bells = room(1, sizeof(*bells));
    bell_set(&bells[0], SHORT_US);
    loop_go();
}

/* --- memory ------------------------------------------------------------------------------- */

static void forget(struct ear *ear)
{
    ear_close(ear);
    if (--left <= 0)
        loop_halt();
}

static void do_memory(void)
{
    hear = forget;
    left = count;
    ready_fd = eventfd(1, EFD_CLOEXEC);
    ears = room((size_t)count, sizeof(*ears));
    for (long i = 0; i < count; i++) {
        int fd = dup(ready_fd);

        if (fd < 0)
            fail("dup");
        ear_open(&ears[i], fd);
    }
    loop_go();
}

static const struct {
    const char *name;
    void (*work)(void);
} works[] = {
    { "pass", do_pass },     { "crowd", do_crowd }, { "watch", do_watch },
    { "timers", do_timers }, { "short", do_short }, { "memory", do_memory },
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 4 && i < sizeof(works) / sizeof(works[0]); i++) {
        if (strcmp(works[i].name, argv[1]) != 0)
            continue;
        count = strtol(argv[2], NULL, 10);
        left = strtol(argv[3], NULL, 10);
        allow_files();
        loop_open();
        works[i].work();
        return 0;
    }
    (void)fprintf(stderr, "usage: %s pass|crowd|watch|timers|short|memory COUNT N\n", argv[0]);
    return 2;
}

#endif
