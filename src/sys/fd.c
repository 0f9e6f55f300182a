#include "sys/fd.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"

static struct rlimit limit_before;
static bool limit_raised;

void fd_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* the number is gone whatever close says */
    *fd = -1;
}

int fd_take(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

int fd_write(int fd, const void *data, size_t size, struct err *err)
{
    const char *at = data;

    while (size > 0) {
        ssize_t n = write(fd, at, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, errno, "write");
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

int fd_read(int fd, void *data, size_t size, size_t *ret_size, struct err *err)
{
    char *at = data;
    size_t done = 0;

    while (done < size) {
        ssize_t n = read(fd, at + done, size - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, errno, "read");
        if (n == 0)
            break;
        done += (size_t)n;
    }
    *ret_size = done;
    return 0;
}

void fd_limit_raise(void)
{
    struct rlimit limit;

    if (limit_raised || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit_before = limit;
    limit.rlim_cur = limit.rlim_max;
    limit_raised = setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

void fd_limit_spare(size_t count)
{
    struct rlimit limit = limit_before;

    if (!limit_raised)
        return;
    limit.rlim_cur = limit.rlim_max - (count < limit.rlim_max / 4 ? count : limit.rlim_max / 4);
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* between limits that were allowed before */
}

bool fd_limit_before(struct rlimit *ret_limit)
{
    if (limit_raised)
        *ret_limit = limit_before;
    return limit_raised;
}
