/* file.seek_read - a part of a file. */
#include <errno.h>
#include <unistd.h>

#include "core/base/err.h"
#include "states/state/module.h"
#include "core/sys/fd.h"
#include "core/sys/site.h"

#define ARGS     struct seek_read_args
#define PART_MAX ((int64_t)64 << 20)

struct seek_read_args {
    const char *path;
    int64_t size, offset;
};

/* clang-format off */
static const struct param seek_read_params[] = {
    PARAM("path", PATH, ARGS, path, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("size", INT, ARGS, size, "how many bytes to read", .flags = PARAM_REQUIRED, PARAM_RANGE(0, PART_MAX)),
    PARAM("offset", INT, ARGS, offset, "where to begin, in bytes", .flags = PARAM_REQUIRED, PARAM_RANGE(0, INT64_MAX)),
    { 0 },
};
/* clang-format on */

/* Less than `size` at the end of the file. */
static int seek_read_call(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    const struct seek_read_args *want = args;
    AUTO_SITE struct site site = SITE_INIT;
    AUTO_FD int fd = -1;
    char *part = arena_alloc(run->arena, (size_t)want->size + 1);
    size_t n = 0;

    if (site_walk(&site, want->path, SITE_FOLLOW, err) < 0 || site_open(&site, &fd, err) < 0)
        return -1;
    if (fd < 0)
        return err_set(err, ERR_NOT_FOUND, "%s does not exist", want->path);
    while (n < (size_t)want->size) {
        const ssize_t got = pread(fd, part + n, (size_t)want->size - n, want->offset + (off_t)n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, errno, "read %s", want->path);
        if (got == 0)
            break;
        n += (size_t)got;
    }
    part[n] = '\0';
    *ret = value_str(str_bytes(part, n));
    return 0;
}

const struct module module_file_seek_read = {
    .name = "file.seek_read",
    .summary = "a part of a file",
    .params = seek_read_params,
    .args_size = sizeof(struct seek_read_args),
    .call = seek_read_call,
};
