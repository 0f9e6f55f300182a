#include "core/sys/fd.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/err.h"

static struct rlimit limit_before;
static bool limit_raised;

void fd_close(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* close frees the number even on failure */
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

int fd_read_some(int fd, void *data, size_t size, size_t *ret_size, struct err *err)
{
    ssize_t n;

    do
        n = read(fd, data, size);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_sys(err, errno, "read");
    *ret_size = (size_t)n;
    return 0;
}

int fd_read(int fd, void *data, size_t size, size_t *ret_size, struct err *err)
{
    char *at = data;
    size_t done = 0, n = 1;

    for (; done < size && n > 0; done += n)
        if (fd_read_some(fd, at + done, size - done, &n, err) < 0)
            return -1;
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
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* between previously allowed limits */
}

bool fd_limit_before(struct rlimit *ret_limit)
{
    if (limit_raised)
        *ret_limit = limit_before;
    return limit_raised;
}
