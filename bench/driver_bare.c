/* driver_bare WORK FOLDER COUNT: only the system calls that a piece of work needs, in one thread,
 * without a word to parse: the limit that bench/states.py compares with.
 *
 *     check      each of COUNT files is there with its content, mode and owner
 *     write      each of them is written beside, synced, renamed, and the folder synced
 *     commands   'sh' makes each of COUNT files that is not there
 *
 * Files are FOLDER/f00000 and so on, with the content of `fill`; bench/states.py asks for the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTENT_MAX  1024
#define CONTENT_ROWS 5
#define FILE_MODE    0644

extern char **environ;

static int failed(const char *what, const char *path)
{
    (void)fprintf(stderr, "driver_bare: %s '%s': %s\n", what, path, strerror(errno));
    return -1;
}

static size_t fill(char *content, size_t size, int number)
{
    size_t n = 0;

    for (int row = 0; row < CONTENT_ROWS; row++)
        n += (size_t)snprintf(content + n, size - n, "line %d of file %d, as it should be\n", row,
                              number);
    return n;
}

static bool is_right(int fd, const char *content, size_t n)
{
    char found[CONTENT_MAX];
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 07777) == FILE_MODE &&
           read(fd, found, sizeof(found)) == (ssize_t)n && memcmp(found, content, n) == 0;
}

static int check(const char *path, int number)
{
    char content[CONTENT_MAX];
    size_t n = fill(content, sizeof(content), number);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool right = fd >= 0 && is_right(fd, content, n);

    if (fd >= 0)
        (void)close(fd);
    return right ? 0 : failed("check", path);
}

static int sync_folder(const char *path)
{
    char folder[PATH_MAX];
    int fd, rc;

    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc = fd < 0 ? -1 : fsync(fd);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

static int write_beside(const char *path, const char *content, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write(fd, content, n) == (ssize_t)n && fchmod(fd, FILE_MODE) == 0 &&
                fsync(fd) == 0;

    if (fd >= 0)
        (void)close(fd);
    return good ? 0 : -1;
}

static int write_new(const char *path, int number)
{
    char content[CONTENT_MAX], beside[PATH_MAX];
    size_t n = fill(content, sizeof(content), number);

    (void)snprintf(beside, sizeof(beside), "%s.new", path);
    if (write_beside(beside, content, n) < 0 || rename(beside, path) < 0 || sync_folder(path) < 0)
        return failed("write", path);
    return 0;
}

static int command(const char *path, int number)
{
    char line[PATH_MAX + 32];
    char *const words[] = { "sh", "-c", line, NULL };
    struct stat st;
    int status;
    pid_t pid;

    if (stat(path, &st) == 0)
        return 0;
    (void)snprintf(line, sizeof(line), "echo %d > %s", number, path);
    if (posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ) != 0)
        return failed("start a command for", path);
    if (waitpid(pid, &status, 0) < 0 || status != 0)
        return failed("wait for the command of", path);
    return 0;
}

static const struct {
    const char *name;
    int (*one)(const char *path, int number);
} works[] = {
    { "check", check },
    { "write", write_new },
    { "commands", command },
};

int main(int argc, char **argv)
{
    char path[PATH_MAX];

    for (size_t i = 0; argc == 4 && i < sizeof(works) / sizeof(works[0]); i++) {
        if (strcmp(works[i].name, argv[1]) != 0)
            continue;
        for (int number = 0; number < strtol(argv[3], NULL, 10); number++) {
            (void)snprintf(path, sizeof(path), "%s/f%05d", argv[2], number);
            if (works[i].one(path, number) < 0)
                return 1;
        }
        return 0;
    }
    (void)fputs("usage: driver_bare check|write|commands FOLDER COUNT\n", stderr);
    return 2;
}
