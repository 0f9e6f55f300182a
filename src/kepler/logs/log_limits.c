#include "kepler/logs/log_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/str.h"
#include "core/sys/fd.h"

static const char file_name[] = "limits", temp_name[] = "limits.tmp", key[] = "max_age ";

enum { TEXT_MAX = 64 };

int log_limits_save(int folder, int64_t max_age, mode_t mode, struct err *err)
{
    char text[TEXT_MAX];

    if (log_limits_load(folder) == max_age)
        return 0;
    if (max_age == 0) {
        if (unlinkat(folder, file_name, 0) < 0 && errno != ENOENT)
            return err_sys(err, errno, "remove '%s' of the log", file_name);
        return 0;
    }
    (void)snprintf(text, sizeof(text), "%s%" PRId64 "\n", key, max_age);
    AUTO_FD int fd =
        openat(folder, temp_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return err_sys(err, errno, "open '%s' of the log", temp_name);
    if (fd_write(fd, text, strlen(text), err) < 0)
        return err_wrap(err, "write '%s' of the log", temp_name);
    if (renameat(folder, temp_name, folder, file_name) < 0)
        return err_sys(err, errno, "replace '%s' of the log", file_name);
    return 0;
}

int64_t log_limits_load(int folder)
{
    char text[TEXT_MAX];
    struct str rest;
    int64_t age;
    struct err err;
    ssize_t n;

    AUTO_FD int fd = openat(folder, file_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof(text));
    if (n <= 0)
        return 0;
    rest = str_trim(str_bytes(text, (size_t)n));
    if (!str_starts(rest, str_from(key)))
        return 0;
    rest = str_from_offset(rest, sizeof(key) - 1);
    return number_parse_int(rest, &age, &err) == 0 && age > 0 ? age : 0;
}
