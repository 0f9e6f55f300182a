#include "core/sys/site.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/sys/account.h"
#include "core/sys/clock.h"
#include "core/sys/draft_log.h"
#include "core/sys/fd.h"

#define NEW_FOLDER_MODE 0755

void site_fd_path(int fd, char path[SITE_FD_PATH_SIZE])
{
    (void)snprintf(path, SITE_FD_PATH_SIZE, "/proc/self/fd/%d", fd);
}

static bool is_entry_absence(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR;
}

static int refuse_missing_site(const struct site *site, struct err *err)
{
    return err_sys(err, ENOENT, "open the folder of '%s'", site->path);
}

/* --- looking --------------------------------------------------------------------------------- */

/* Could a user other than its owner have given this file the name that we use? */
static bool is_foreign_name(const struct site *site, const struct fs_info *info)
{
    const uid_t folder = site->above.uid;
    uid_t caller;

    if (info->kind == FS_FOLDER || info->links <= 1)
        return false;
    caller = geteuid();
    if (folder != 0 && folder != caller)
        return info->uid != folder;
    return (site->above.mode & S_IWOTH) != 0 && (caller == 0 || info->uid != caller);
}

static int refuse_foreign_name(const struct site *site, const struct fs_info *info, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (!is_foreign_name(site, info))
        return 0;
    return err_set(err, ERR_UNSAFE,
                   "refusing to touch '%s': the %s of %s has %llu names, and this one is in a "
                   "folder where others may have made it (remove it, and try again)",
                   site->path, fs_kind_name(info->kind), account_describe(&arena, info->uid),
                   (unsigned long long)info->links);
}

int site_look(struct site *site, struct err *err)
{
    site->info = (struct fs_info){ .kind = FS_NONE };
    if (site->folder >= 0 && fs_look_at(site->folder, site->name, &site->info) < 0 &&
        !is_entry_absence(errno))
        return err_sys(err, errno, "stat '%s'", site->path);
    return 0;
}

/* Not openable: a link, a socket, or missing. */
static int look_instead(struct site *site, int errnum, struct err *err)
{
    if (site_look(site, err) < 0)
        return -1;
    if (site->info.kind == FS_NONE || site->info.kind == FS_LINK || site->info.kind == FS_SOCKET)
        return 0;
    return err_sys(err, errnum, "open '%s'", site->path);
}

int site_peek(struct site *site, int *ret_fd, struct err *err)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    AUTO_FD int fd = -1;

    *ret_fd = -1;
    if (site->folder < 0)
        return 0;
    fd = openat(site->folder, site->name, flags);
    if (fd < 0)
        return look_instead(site, errno, err);
    if (fs_look_at(fd, "", &site->info) < 0)
        return err_sys(err, errno, "stat '%s'", site->path);
    *ret_fd = fd_take(&fd);
    return 0;
}

int site_glance(const char *path)
{
    const struct open_how how = {
        .flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
        .resolve = RESOLVE_NO_SYMLINKS,
    };

    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

int site_glance_below(int folder, const char *path)
{
    const struct open_how how = {
        .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };

    return (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

int site_open(struct site *site, int *ret_fd, struct err *err)
{
    AUTO_FD int fd = -1;

    *ret_fd = -1;
    if (site_peek(site, &fd, err) < 0 ||
        (fd >= 0 && refuse_foreign_name(site, &site->info, err) < 0))
        return -1;
    *ret_fd = fd_take(&fd);
    return 0;
}

int site_read(struct arena *arena, struct site *site, size_t max, struct str *ret_text,
              struct err *err)
{
    AUTO_FD int fd = -1;

    if (site_open(site, &fd, err) < 0)
        return -1;
    if (fd < 0 && site->info.kind != FS_NONE)
        return err_set(err, ERR_INVALID, "read '%s': it is a %s", site->path,
                       fs_kind_name(site->info.kind));
    if (fd >= 0)
        return fs_read_fd(arena, fd, site->path, max, ret_text, err);
    *ret_text = (struct str){ NULL, 0 };
    return 0;
}

int site_readlink(struct arena *arena, const struct site *site, const char **ret_target,
                  struct err *err)
{
    char target[PATH_MAX];
    ssize_t n;

    *ret_target = NULL;
    if (site->folder < 0)
        return 0;
    n = readlinkat(site->folder, site->name, target, sizeof(target));
    if (n < 0 && !is_entry_absence(errno) && errno != EINVAL)
        return err_sys(err, errno, "read the link '%s'", site->path);
    *ret_target = n < 0 ? NULL : arena_strndup(arena, target, (size_t)n);
    return 0;
}

static bool is_same_entry(const struct fs_info *a, const struct fs_info *b)
{
    return a->kind == b->kind && a->inode == b->inode && a->device == b->device;
}

int site_hold_known(const struct site *site, int *ret_fd, struct err *err)
{
    AUTO_FD int fd = -1;
    struct fs_info now;

    if (site->folder < 0)
        return refuse_missing_site(site, err);
    fd = openat(site->folder, site->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fs_look_at(fd, "", &now) < 0)
        return err_sys(err, errno, "open '%s'", site->path);
    if (!is_same_entry(&now, &site->info))
        return err_set(err, ERR_BUSY, "'%s' was replaced by another process", site->path);
    *ret_fd = fd_take(&fd);
    return 0;
}

int site_hold(const struct site *site, int *ret_fd, struct err *err)
{
    AUTO_FD int fd = -1;
    struct fs_info now;

    if (site_hold_known(site, &fd, err) < 0)
        return -1;
    if (fs_look_at(fd, "", &now) < 0)
        return err_sys(err, errno, "stat '%s'", site->path);
    if (refuse_foreign_name(site, &now, err) < 0)
        return -1;
    *ret_fd = fd_take(&fd);
    return 0;
}

/* --- attributes ------------------------------------------------------------------------------- */

static int set_site_owner(int fd, const char *path, const struct fs_attr *attr, struct err *err)
{
    if (attr->uid == FS_KEEP && attr->gid == FS_KEEP)
        return 0;
    if (fchownat(fd, "", attr->uid, attr->gid, AT_EMPTY_PATH) < 0)
        return err_sys(err, errno, "set the owner of '%s' to %d:%d", path, (int)attr->uid,
                       (int)attr->gid);
    return 0;
}

/* No such call takes an O_PATH descriptor on all supported kernels. */
static int set_mode(int fd, const char *path, mode_t mode, struct err *err)
{
    char fd_path[SITE_FD_PATH_SIZE];

    if (mode == FS_KEEP)
        return 0;
    site_fd_path(fd, fd_path);
    if (chmod(fd_path, mode) < 0)
        return err_sys(err, errno, "set the mode of '%s' to %04o", path, (unsigned)mode);
    return 0;
}

int site_set_held(int fd, enum fs_kind kind, const char *path, const struct fs_attr *attr,
                  struct err *err)
{
    if (set_site_owner(fd, path, attr, err) < 0)
        return -1;
    return kind == FS_LINK ? 0 : set_mode(fd, path, attr->mode, err);
}

int site_set(struct site *site, const struct fs_attr *attr, struct err *err)
{
    AUTO_FD int fd = -1;

    if (site_hold(site, &fd, err) < 0)
        return -1;
    return site_set_held(fd, site->info.kind, site->path, attr, err);
}

/* Round down, so that times before 1970 have nanoseconds from 0 up as well. */
static struct timespec make_timespec(int64_t ns)
{
    int64_t seconds = ns / CLOCK_SECOND - (ns % CLOCK_SECOND < 0 ? 1 : 0);

    return (struct timespec){ (time_t)seconds, (long)(ns - seconds * CLOCK_SECOND) };
}

int site_set_times_held(int fd, const char *path, int64_t atime, int64_t mtime, struct err *err)
{
    const struct timespec times[2] = { make_timespec(atime), make_timespec(mtime) };

    if (utimensat(fd, "", times, AT_EMPTY_PATH) < 0)
        return err_sys(err, errno, "set the times of '%s'", path);
    return 0;
}

int site_set_times(const struct site *site, int64_t atime, int64_t mtime, struct err *err)
{
    AUTO_FD int fd = -1;

    if (site_hold(site, &fd, err) < 0)
        return -1;
    return site_set_times_held(fd, site->path, atime, mtime, err);
}

/* --- names ------------------------------------------------------------------------------- */

/* For the file just made there, even if a file system without owners reports another owner. */
static int look_at_made(struct site *site, enum fs_kind kind, struct err *err)
{
    if (site_look(site, err) < 0)
        return -1;
    if (site->info.kind != kind)
        return err_set(err, ERR_BUSY, "'%s' was replaced by another process", site->path);
    return 0;
}

int site_draft_name(const struct site *site, char name[FS_TEMP_NAME_SIZE], struct err *err)
{
    fs_temp_name(name);
    return site->log ? draft_log_add(site->log, site, name, err) : 0;
}

void site_drop_draft(const struct site *site, const char *name)
{
    if (unlinkat(site->folder, name, 0) < 0 && errno != ENOENT && site->log)
        draft_log_keep(site->log);
}

int site_create(struct site *site, int *ret_fd, struct err *err)
{
    AUTO_FD int fd = -1;

    if (site->folder < 0)
        return refuse_missing_site(site, err);
    fd = openat(site->folder, site->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, errno, "create '%s'", site->path);
    if (site_look(site, err) < 0) {
        (void)unlinkat(site->folder, site->name, 0); /* the first error is the one to report */
        return -1;
    }
    *ret_fd = fd_take(&fd);
    return 0;
}

int site_mkdir(struct site *site, const struct fs_attr *attr, struct err *err)
{
    struct fs_attr want = *attr;

    if (want.mode == FS_KEEP)
        want.mode = NEW_FOLDER_MODE;
    if (site->folder < 0)
        return refuse_missing_site(site, err);
    /* Until it has its owner, nobody else writes to it. Who reads it finds nothing, and a run that
     * is killed now leaves it as the next one expects it. */
    if (mkdirat(site->folder, site->name, want.mode & (want.uid == FS_KEEP ? 0777 : 0755)) < 0)
        return err_sys(err, errno, "make the folder '%s'", site->path);
    if (look_at_made(site, FS_FOLDER, err) == 0 && site_set(site, &want, err) == 0)
        return 0;
    (void)unlinkat(site->folder, site->name, AT_REMOVEDIR); /* the first error is reported */
    return -1;
}

int site_mknod(struct site *site, const struct fs_info *like, struct err *err)
{
    static const mode_t types[FS_KINDS] = {
        [FS_FIFO] = S_IFIFO,
        [FS_BLOCK] = S_IFBLK,
        [FS_CHAR] = S_IFCHR,
    };

    if (site->folder < 0)
        return refuse_missing_site(site, err);
    if (mknodat(site->folder, site->name, types[like->kind] | 0600, like->node) < 0)
        return err_sys(err, errno, "make the %s '%s'", fs_kind_name(like->kind), site->path);
    return look_at_made(site, like->kind, err);
}

int site_link_held(struct site *site, int fd, const char *of, struct err *err)
{
    char path[SITE_FD_PATH_SIZE];

    if (site->folder < 0)
        return refuse_missing_site(site, err);
    site_fd_path(fd, path);
    if (linkat(AT_FDCWD, path, site->folder, site->name, AT_SYMLINK_FOLLOW) < 0)
        return err_sys(err, errno, "link '%s' to '%s'", site->path, of);
    return look_at_made(site, FS_FILE, err);
}

int site_link(struct site *site, const struct site *of, struct err *err)
{
    AUTO_FD int fd = -1;

    return site_hold(of, &fd, err) < 0 ? -1 : site_link_held(site, fd, of->path, err);
}

int site_symlink(struct site *site, const char *target, struct err *err)
{
    char temp[FS_TEMP_NAME_SIZE];

    if (site->folder < 0)
        return refuse_missing_site(site, err);
    if (symlinkat(target, site->folder, site->name) == 0)
        return look_at_made(site, FS_LINK, err);
    if (errno != EEXIST)
        return err_sys(err, errno, "link '%s' to '%s'", site->path, target);
    if (site_draft_name(site, temp, err) < 0)
        return -1;
    if (symlinkat(target, site->folder, temp) < 0)
        return err_sys(err, errno, "make a link beside '%s'", site->path);
    if (renameat(site->folder, temp, site->folder, site->name) < 0) {
        err_sys(err, errno, "replace '%s' by a link", site->path);
        site_drop_draft(site, temp);
        return -1;
    }
    return look_at_made(site, FS_LINK, err);
}

int site_rename(const struct site *from, const struct site *to, struct err *err)
{
    if (from->folder < 0 || to->folder < 0)
        return refuse_missing_site(from->folder < 0 ? from : to, err);
    if (renameat(from->folder, from->name, to->folder, to->name) < 0)
        return err_sys(err, errno, "rename '%s' to '%s'", from->path, to->path);
    return 0;
}

static int remove_name(const struct site *site, int flags, struct err *err)
{
    if (site->folder >= 0 && unlinkat(site->folder, site->name, flags) < 0 &&
        !is_entry_absence(errno))
        return err_sys(err, errno, "remove '%s'", site->path);
    return 0;
}

int site_unlink(const struct site *site, struct err *err)
{
    return remove_name(site, 0, err);
}

int site_rmdir(const struct site *site, struct err *err)
{
    return remove_name(site, AT_REMOVEDIR, err);
}

int site_sync(const struct site *site, struct err *err)
{
    AUTO_FD int fd = -1;

    if (site->folder < 0)
        return refuse_missing_site(site, err);
    fd = openat(site->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) < 0)
        return err_sys(err, errno, "sync the folder of '%s'", site->path);
    return 0;
}

/* --- where it is ------------------------------------------------------------------------- */

/* From another user's folder a walk only continues to folders of the same owner, so all folders
 * above ours belong to us or root as well. */
bool site_is_guarded(const struct site *site)
{
    const struct fs_info *above = &site->above;

    return site->folder >= 0 && (above->uid == 0 || above->uid == geteuid()) &&
           ((above->mode & S_IWOTH) == 0 || (above->mode & S_ISVTX) != 0);
}

static bool is_site_folder(const struct stat *st, const struct fs_info *folder)
{
    return st->st_ino == folder->inode && st->st_dev == folder->device;
}

int site_is_below(const struct site *site, const struct site *base, bool *ret, struct err *err)
{
    AUTO_FD int fd = site->folder < 0 ? -1 : fcntl(site->folder, F_DUPFD_CLOEXEC, 0);
    struct stat now, before = { 0 };

    *ret = false;
    if (site->folder < 0 || base->folder < 0)
        return 0;
    for (;;) {
        int above;

        if (fd < 0 || fstat(fd, &now) < 0)
            return err_sys(err, errno, "stat the parent folders of '%s'", site->path);
        *ret = is_site_folder(&now, &base->above);
        if (*ret || (now.st_ino == before.st_ino && now.st_dev == before.st_dev))
            return 0; /* the root folder is above itself */
        before = now;
        above = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        fd_close(&fd);
        fd = above;
    }
}
