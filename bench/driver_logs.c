/* driver_logs MODE ...: both ends of a pipe for the benchmark of the log store.
 *
 *     blocks COUNT          write COUNT lines of 100 bytes in blocks of 64 KiB
 *     lines COUNT           the same, each line with its own write
 *     store FOLDER          stdin into a log store: time, service, index, checks
 *     bare FILE             stdin into a file, each line with the time in front: the limit
 *     until FILE BYTES COMMAND...   run COMMAND until FILE has BYTES, then end it
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/err.h"
#include "kepler/logs/log_source.h"
#include "kepler/logs/log_store.h"
#include "core/sys/clock.h"

#define LINE_SIZE  100
#define BLOCK_SIZE ((size_t)64 << 10)
#define STAMP_SIZE 32

static int fail(const char *what)
{
    (void)fprintf(stderr, "driver_logs: %s\n", what);
    return 1;
}

static int put(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, p, n);

        if (written < 0)
            return -1;
        p += written;
        n -= (size_t)written;
    }
    return 0;
}

static int write_lines(long count, size_t at_once)
{
    static char block[BLOCK_SIZE + LINE_SIZE];
    size_t n = 0;

    for (long i = 0; i < count; i++) {
        memset(block + n, 'x', LINE_SIZE);
        block[n + LINE_SIZE - 1] = '\n';
        n += LINE_SIZE;
        if (n >= at_once || i == count - 1) {
            if (put(1, block, n) < 0)
                return fail("write");
            n = 0;
        }
    }
    return 0;
}

static int store(const char *folder)
{
    enum log_source_result result = LOG_SOURCE_DATA;
    struct log_source *source;
    struct log_store *log;
    struct err err;

    if (log_store_open(folder, NULL, &log, &err) < 0 ||
        log_source_new(log, "bench", NULL, SEGMENT_STDOUT, true, &source, &err) < 0)
        return fail(err.text);
    while (result != LOG_SOURCE_END) {
        if (log_source_read(source, 0, &result, &err) < 0)
            return fail(err.text);
        if (log_store_due(log) <= clock_now())
            log_store_tick(log);
    }
    log_source_free(source);
    log_store_free(log);
    return 0;
}

/* The text of now, with a blank behind it. */
static size_t stamp(char text[static STAMP_SIZE])
{
    struct timespec now;
    struct tm tm;
    size_t n;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &tm);
    n = strftime(text, STAMP_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
    return n + (size_t)snprintf(text + n, STAMP_SIZE - n, ".%03dZ ", (int)(now.tv_nsec / 1000000));
}

/* Lines are stamped with the time of the read that brought them. */
static int bare(const char *path)
{
    static char in[BLOCK_SIZE], out[BLOCK_SIZE * 2 + STAMP_SIZE];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int begin = 1;
    ssize_t got;

    if (fd < 0)
        return fail("open");
    while ((got = read(0, in, sizeof(in))) > 0) {
        char time[STAMP_SIZE];
        const size_t stamp_size = stamp(time);
        const char *p = in, *end = in + got;
        size_t n = 0;

        while (p < end) {
            const char *line_end = memchr(p, '\n', (size_t)(end - p));
            const size_t size = (size_t)((line_end ? line_end + 1 : end) - p);

            if (n + stamp_size + size > sizeof(out)) {
                if (put(fd, out, n) < 0)
                    return fail("write");
                n = 0;
            }
            if (begin) {
                memcpy(out + n, time, stamp_size);
                n += stamp_size;
            }
            memcpy(out + n, p, size);
            n += size;
            p += size;
            begin = line_end != NULL;
        }
        if (put(fd, out, n) < 0)
            return fail("write");
    }
    return got < 0 ? fail("read") : 0;
}

static int until(const char *path, long long bytes, char **command)
{
    const struct timespec millisecond = { 0, 1000000 };
    struct stat st = { 0 };
    pid_t pid = fork();

    if (pid == 0) {
        (void)execvp(command[0], command);
        _exit(127);
    }
    while (stat(path, &st) < 0 || st.st_size < bytes) {
        if (waitpid(pid, NULL, WNOHANG) != 0)
            return fail("the command ended before the file was full");
        (void)nanosleep(&millisecond, NULL);
    }
    (void)kill(pid, SIGTERM);
    (void)waitpid(pid, NULL, 0);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "blocks") == 0)
        return write_lines(strtol(argv[2], NULL, 10), BLOCK_SIZE);
    if (argc == 3 && strcmp(argv[1], "lines") == 0)
        return write_lines(strtol(argv[2], NULL, 10), LINE_SIZE);
    if (argc == 3 && strcmp(argv[1], "store") == 0)
        return store(argv[2]);
    if (argc == 3 && strcmp(argv[1], "bare") == 0)
        return bare(argv[2]);
    if (argc > 4 && strcmp(argv[1], "until") == 0)
        return until(argv[2], strtoll(argv[3], NULL, 10), argv + 4);
    return fail("usage: blocks COUNT | lines COUNT | store FOLDER | bare FILE | until FILE BYTES "
                "COMMAND...");
}
