/* measure COMMAND...: run it with nothing on stdin and its output thrown away, and print
 *
 *     seconds user-seconds system-seconds peak-kilobytes exit-status
 *
 * A program of its own, because the kernel counts the memory of the process that forks into the
 * peak of its child: measured from an interpreter, every program would seem as large as the
 * interpreter. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define EXIT_BY_SIGNAL 128

extern char **environ;

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int start(char **command, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int errnum;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    errnum = posix_spawnp(ret_pid, command[0], &actions, NULL, command, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return errnum;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    double begin, end;
    int status, errnum;
    pid_t pid;

    if (argc < 2) {
        (void)fputs("usage: measure COMMAND...\n", stderr);
        return 2;
    }
    begin = now();
    errnum = start(argv + 1, &pid);
    if (errnum != 0) {
        (void)fprintf(stderr, "measure: %s: %s\n", argv[1], strerror(errnum));
        return 2;
    }
    while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    end = now();
    printf("%.9f %.6f %.6f %ld %d\n", end - begin, seconds_of(usage.ru_utime),
           seconds_of(usage.ru_stime), usage.ru_maxrss,
           WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BY_SIGNAL + WTERMSIG(status));
    return 0;
}
