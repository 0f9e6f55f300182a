/* A folder of files: one for each value. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/data/params.h"
#include "fleet/master/secrets/backend.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"

/* clang-format off */
static const struct param rows[] = {
    BACKEND_ROWS,
    PARAM("folder", PATH, struct backend, folder, "folder of the files, which others must not be able to read", .flags = PARAM_REQUIRED),
    { 0 },
};
/* clang-format on */

static bool is_own_file(const struct stat *st)
{
    return st->st_uid == 0 || st->st_uid == geteuid();
}

static int check_secret_folder(int fd, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(err, errno, "cannot stat a folder");
    if (!is_own_file(&st) || (st.st_mode & 0022))
        return err_set(err, ERR_UNSAFE, "a parent folder is writable by others");
    return 0;
}

static int check_secret_file(int fd, struct err *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return err_sys(err, errno, "cannot stat the file");
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, "not a regular file");
    if (!is_own_file(&st) || (st.st_mode & 0077))
        return err_set(
            err, ERR_UNSAFE,
            "unsafe permissions: the owner must be root or this user, the mode 0600 or 0400");
    return 0;
}

static int open_path_part(int folder, const char *part, int flags, struct err *err)
{
    const int fd = openat(folder, part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);

    if (fd >= 0)
        return fd;
    if (errno == ENOENT)
        return err_set(err, ERR_NOT_FOUND, "no such file");
    if (errno == ELOOP)
        return err_set(err, ERR_INVALID, "symbolic links are not followed");
    return err_sys(err, errno, "cannot open it");
}

/* Opens part by part, relative to the previous descriptor: no link and no '..' leads out of the
 * folder. */
static int open_secret_path(int folder, struct arena *arena, const char *path, struct err *err)
{
    struct str rest = str_from(path);
    AUTO_FD int at = -1;

    while (rest.p) {
        const char *part = arena_str(arena, str_cut(&rest, '/')).p;
        int next;

        if (part[0] == '\0' || strcmp(part, ".") == 0 || strcmp(part, "..") == 0)
            return err_set(err, ERR_INVALID, "the path has a part that is empty, '.' or '..'");
        next = open_path_part(at < 0 ? folder : at, part, rest.p ? O_DIRECTORY : 0, err);
        if (next < 0)
            return -1;
        fd_close(&at);
        at = next;
        if (rest.p && check_secret_folder(at, err) < 0)
            return -1;
    }
    return fd_take(&at);
}

static int get_file(const struct backend *backend, const struct backend_call *call,
                    struct str *ret_bytes, struct err *err)
{
    AUTO_FD int folder = open(backend->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_FD int fd = -1;

    if (folder < 0)
        return err_sys(err, errno, "cannot open the folder");
    if (check_secret_folder(folder, err) < 0)
        return -1;
    fd = open_secret_path(folder, call->arena, call->path, err);
    if (fd < 0 || check_secret_file(fd, err) < 0)
        return -1;
    return fs_read_fd(call->arena, fd, "the file", BACKEND_VALUE_MAX, ret_bytes, err);
}

const struct backend_kind backend_kind_file = {
    .name = "file",
    .rows = rows,
    .get = get_file,
};
