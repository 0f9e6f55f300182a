/*
 * Why a named file and not O_TMPFILE: linking an unnamed file cannot replace an
 * existing one, so a named one would be needed for the last step in any case.
 */
#include "core/sys/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/cancel.h"
#include "core/sys/draft_log.h"
#include "core/sys/fd.h"
#include "core/sys/tree.h"

#define NAME_TRIES  16
#define COPY_CHUNK  ((size_t)64 << 20) /* between two checks for cancellation */
#define COPY_BUFFER 65536
#define WRITE_PIECE ((size_t)16 << 20) /* larger content can be canceled between two pieces */
#define SYNC_PIECE  ((off_t)8 << 20)
/* The kernel's own limits on extended attributes. */
#define XATTR_LIST_SIZE  65536
#define XATTR_VALUE_SIZE 65536

/* A draft of our own data is locked while it is written: draft_sweep removes unlocked ones. False
 * when it was removed in between. */
static bool lock_own(const struct draft *draft)
{
    struct stat st;

    if (draft->site != &draft->own)
        return true; /* the log has its name */
    if (flock(draft->fd, LOCK_EX | LOCK_NB) < 0)
        return errno != EWOULDBLOCK; /* a file system without locks is not swept */
    return fstat(draft->fd, &st) == 0 && st.st_nlink > 0;
}

static int create_beside(struct draft *draft, struct err *err)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        if (site_draft_name(draft->site, draft->temp, err) < 0) {
            draft->temp[0] = '\0';
            return -1;
        }
        draft->fd = openat(draft->site->folder, draft->temp,
                           O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (draft->fd < 0 && errno != EEXIST)
            break;
        if (draft->fd >= 0 && lock_own(draft))
            return 0;
        fd_close(&draft->fd);
        errno = EEXIST;
    }
    draft->temp[0] = '\0';
    return err_sys(err, errno, "create a file beside '%s'", draft->site->path);
}

static int create_draft(struct draft *draft, const struct site *site, struct err *err)
{
    draft->site = site;
    if (strcmp(site->name, ".") == 0)
        return err_set(err, ERR_INVALID, "write '%s': not the name of a file", site->path);
    if (site->folder < 0)
        return err_sys(err, ENOENT, "open the folder of '%s'", site->path);
    return create_beside(draft, err);
}

int draft_open_at(struct draft *draft, const struct site *site,
                  const struct fs_replace_options *options, struct err *err)
{
    *draft = (struct draft){ .fd = -1, .own = SITE_INIT, .options = { .attr = FS_ATTR_KEEP } };
    if (options)
        draft->options = *options;
    return create_draft(draft, site, err);
}

int draft_open(struct draft *draft, const char *path, const struct fs_replace_options *options,
               struct err *err)
{
    *draft = (struct draft){ .fd = -1, .own = SITE_INIT, .options = { .attr = FS_ATTR_KEEP } };
    if (options)
        draft->options = *options;
    if (path[0] == '\0' || path[strlen(path) - 1] == '/')
        return err_set(err, ERR_INVALID, "write '%s': not the name of a file", path);
    if (site_walk(&draft->own, path, SITE_OWN | (draft->options.follow ? SITE_FOLLOW : 0), err) < 0)
        return -1;
    if (create_draft(draft, &draft->own, err) == 0)
        return 0;
    draft_done(draft);
    return -1;
}

int draft_add(struct draft *draft, struct str content, struct err *err)
{
    for (size_t done = 0, n; done < content.n; done += n) {
        n = content.n - done < WRITE_PIECE ? content.n - done : WRITE_PIECE;
        if (done > 0 && cancel_check(err) < 0)
            return -1;
        if (fd_write(draft->fd, content.p + done, n, err) < 0)
            return err_wrap(err, "'%s'", draft->site->path);
    }
    return 0;
}

static int copy_by_hand(struct draft *draft, int from, struct err *err)
{
    AUTO_FREE char *chunk = mem_alloc(COPY_BUFFER);
    size_t n;

    do {
        if (cancel_check(err) < 0)
            return -1;
        if (fd_read(from, chunk, COPY_BUFFER, &n, err) < 0)
            return err_wrap(err, "copy to '%s'", draft->site->path);
        if (fd_write(draft->fd, chunk, n, err) < 0)
            return err_wrap(err, "'%s'", draft->site->path);
    } while (n > 0);
    return 0;
}

int draft_copy(struct draft *draft, int from, struct err *err)
{
    ssize_t n;

    if (lseek(from, 0, SEEK_CUR) == 0 && lseek(draft->fd, 0, SEEK_CUR) == 0 &&
        ioctl(draft->fd, FICLONE, from) == 0)
        return 0;
    do {
        if (cancel_check(err) < 0)
            return -1;
        n = copy_file_range(from, NULL, draft->fd, NULL, COPY_CHUNK, 0);
    } while (n > 0);
    if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO))
        return err_sys(err, errno, "copy to '%s'", draft->site->path);
    /* Both offsets are its end. Some files, as in /proc, claim to be empty. */
    return copy_by_hand(draft, from, err);
}

/* --- commit ------------------------------------------------------------------- */

/* Capabilities and integrity hashes belong to the old content. */
static bool is_copied(const char *xattr)
{
    static const char *const left[] = { "security.capability", "security.ima", "security.evm" };

    for (size_t i = 0; i < ARRAY_LEN(left); i++)
        if (strcmp(xattr, left[i]) == 0)
            return false;
    return strncmp(xattr, "trusted.", 8) != 0;
}

static int copy_xattr(struct draft *draft, int old, const char *name, struct err *err)
{
    AUTO_FREE char *value = mem_alloc(XATTR_VALUE_SIZE);
    ssize_t n = fgetxattr(old, name, value, XATTR_VALUE_SIZE);

    if (n < 0 && errno == ENODATA)
        return 0; /* removed meanwhile */
    if (n >= 0 && fsetxattr(draft->fd, name, value, (size_t)n, 0) == 0)
        return 0;
    if (errno == ENOTSUP || strncmp(name, "security.", 9) == 0)
        return 0; /* labels belong to the policy, not to a user */
    return err_sys(err, errno, "copy the attribute '%s' of '%s'", name, draft->site->path);
}

/* Open exactly the file of `info`, not a replacement. */
static int open_old(const struct draft *draft, const struct fs_info *info, int flags)
{
    AUTO_FD int fd = openat(draft->site->folder, draft->site->name,
                            flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    if (st.st_ino == info->inode && st.st_dev == info->device)
        return fd_take(&fd);
    errno = EBUSY;
    return -1;
}

static int copy_xattrs(struct draft *draft, const struct fs_info *info, struct err *err)
{
    AUTO_FD int old = open_old(draft, info, O_RDONLY);
    AUTO_FREE char *names = NULL;
    ssize_t n = old < 0 ? 0 : flistxattr(old, NULL, 0);

    if (n <= 0)
        return 0; /* missing, or a file that we may replace but not read */
    names = mem_alloc(XATTR_LIST_SIZE);
    n = flistxattr(old, names, XATTR_LIST_SIZE);
    for (const char *name = names; n > 0 && name < names + n; name += strlen(name) + 1)
        if (is_copied(name) && copy_xattr(draft, old, name, err) < 0)
            return -1;
    return 0;
}

/* Owner first (it clears set-id bits), then ACLs, then the mode. */
static int set_attr(struct draft *draft, const struct fs_info *old, struct err *err)
{
    struct fs_attr want = draft->options.attr;
    const bool is_file = old->kind == FS_FILE, copies = is_file && !draft->options.record;
    struct stat now;
    bool moves;

    if (draft->options.as_is)
        return 0;
    if (want.mode == FS_KEEP)
        want.mode = is_file ? old->mode : FS_NEW_MODE;
    if (fstat(draft->fd, &now) < 0)
        return err_sys(err, errno, "stat the draft of '%s'", draft->site->path);
    if (want.uid == FS_KEEP)
        want.uid = is_file ? old->uid : now.st_uid;
    if (want.gid == FS_KEEP)
        want.gid = is_file ? old->gid : now.st_gid;
    moves = want.uid != now.st_uid || want.gid != now.st_gid;
    if (moves && fchown(draft->fd, want.uid, want.gid) < 0)
        return err_sys(err, errno, "set the owner of '%s' to %u:%u", draft->site->path, want.uid,
                       want.gid);
    if (copies && copy_xattrs(draft, old, err) < 0)
        return -1;
    if (!moves && !copies && (now.st_mode & 07777) == want.mode)
        return 0; /* as it was created */
    if (fchmod(draft->fd, want.mode) < 0)
        return err_sys(err, errno, "set the mode of '%s'", draft->site->path);
    return 0;
}

/* Another file may reuse an inode number, but not its change time. */
static bool is_unchanged(const struct fs_info *seen, const struct fs_info *now)
{
    return seen->kind == now->kind &&
           (now->kind == FS_NONE || (seen->inode == now->inode && seen->device == now->device &&
                                     seen->ctime == now->ctime));
}

static int look_at_old(struct draft *draft, struct fs_info *ret_old, struct err *err)
{
    struct stat st;

    *ret_old = (struct fs_info){ .kind = FS_NONE };
    if (draft->options.record && draft->site == &draft->own) /* nobody else writes it */
        *ret_old = draft->own.info;
    else if (fstatat(draft->site->folder, draft->site->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        fs_info_from(&st, ret_old);
    else if (errno != ENOENT)
        return err_sys(err, errno, "stat '%s'", draft->site->path);
    if (ret_old->kind == FS_FOLDER)
        return err_sys(err, EISDIR, "replace '%s'", draft->site->path);
    if (draft->options.seen && !is_unchanged(draft->options.seen, ret_old))
        return err_set(err, ERR_BUSY, "'%s' was changed by another process", draft->site->path);
    return 0;
}

static int move_into_place(const struct draft *draft)
{
    int folder = draft->site->folder;
    int rc;

    if (!draft->options.fresh)
        return renameat(folder, draft->temp, folder, draft->site->name);
    rc = renameat2(folder, draft->temp, folder, draft->site->name, RENAME_NOREPLACE);
    if (rc == 0 || errno != EINVAL)
        return rc;
    /* not supported: a second name never replaces a file either */
    if (linkat(folder, draft->temp, folder, draft->site->name, 0) < 0)
        return -1;
    return unlinkat(folder, draft->temp, 0);
}

static int copy_attr(const struct draft *draft, int to, struct err *err)
{
    struct stat want, now;

    if (fstat(draft->fd, &want) < 0 || fstat(to, &now) < 0)
        return err_sys(err, errno, "stat '%s'", draft->site->path);
    if ((want.st_uid != now.st_uid || want.st_gid != now.st_gid) &&
        fchown(to, want.st_uid, want.st_gid) < 0)
        return err_sys(err, errno, "set the owner of '%s' to %u:%u", draft->site->path, want.st_uid,
                       want.st_gid);
    if (((want.st_mode ^ now.st_mode) & 07777) != 0 && fchmod(to, want.st_mode & 07777) < 0)
        return err_sys(err, errno, "set the mode of '%s'", draft->site->path);
    return 0;
}

static bool is_mount(int fd)
{
    struct statx st;

    return statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) == 0 &&
           (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* The name is a mount point, as /etc/hosts in containers: it cannot be replaced, only rewritten.
 * Readers may see a part of it; a revert uses the image. */
static int fill_mounted(struct draft *draft, const struct fs_info *old, struct err *err)
{
    AUTO_FD int to = open_old(draft, old, O_WRONLY);
    AUTO_FREE char *chunk = mem_alloc(COPY_BUFFER);
    off_t size = lseek(draft->fd, 0, SEEK_END);
    size_t n;

    if (to < 0 || !is_mount(to))
        return err_sys(err, to < 0 ? errno : EBUSY, "write '%s', which is mounted",
                       draft->site->path);
    if (size < 0 || lseek(draft->fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "read the draft of '%s'", draft->site->path);
    do {
        if (fd_read(draft->fd, chunk, COPY_BUFFER, &n, err) < 0 || fd_write(to, chunk, n, err) < 0)
            return err_wrap(err, "'%s', which is mounted", draft->site->path);
    } while (n > 0);
    if (ftruncate(to, size) < 0)
        return err_sys(err, errno, "shorten '%s'", draft->site->path);
    if (copy_attr(draft, to, err) < 0)
        return -1;
    if (draft->options.sync == FS_SYNC && fsync(to) < 0)
        return err_sys(err, errno, "sync '%s'", draft->site->path);
    return 0;
}

static int publish_file(struct draft *draft, const struct fs_info *old, struct err *err)
{
    const int rc = move_into_place(draft);

    if (rc < 0 && errno == EBUSY && !draft->options.fresh)
        return fill_mounted(draft, old, err); /* draft_done drops the draft */
    if (rc < 0)
        return err_sys(err, errno, draft->options.fresh ? "create '%s'" : "rename to '%s'",
                       draft->site->path);
    draft->temp[0] = '\0';
    return 0;
}

/* A sync cannot be interrupted: large content is written to the disk in pieces before. */
static int sync_content(const struct draft *draft, struct err *err)
{
    const off_t size = lseek(draft->fd, 0, SEEK_END);

    for (off_t at = 0; size > SYNC_PIECE && at < size; at += SYNC_PIECE) {
        if (cancel_check(err) < 0)
            return -1;
        (void)sync_file_range(draft->fd, at, SYNC_PIECE,
                              SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                  SYNC_FILE_RANGE_WAIT_AFTER); /* fsync reports errors */
    }
    if (fsync(draft->fd) < 0)
        return err_sys(err, errno, "sync '%s'", draft->site->path);
    return 0;
}

int draft_commit(struct draft *draft, struct err *err)
{
    bool sync = draft->options.sync == FS_SYNC;
    struct fs_info old;

    if (look_at_old(draft, &old, err) < 0 || set_attr(draft, &old, err) < 0)
        return -1;
    if (sync && sync_content(draft, err) < 0)
        return -1;
    if (publish_file(draft, &old, err) < 0)
        return -1;
    return sync ? site_sync(draft->site, err) : 0;
}

void draft_done(struct draft *draft)
{
    if (draft->temp[0])
        site_drop_draft(draft->site, draft->temp);
    draft->temp[0] = '\0';
    fd_close(&draft->fd);
    site_done(&draft->own);
}

static void sweep_name(int folder, const char *name)
{
    AUTO_FD int fd =
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(folder, name, 0); /* the next sweep tries again */
}

void draft_sweep(const char *folder)
{
    AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fs_names names;
    struct err ignored;

    if (fd < 0 || fs_list_fd(&arena, fd, folder, &names, &ignored) < 0)
        return;
    VEC_EACH (&names.list, name)
        if (fs_is_temp_name(*name))
            sweep_name(fd, *name);
}

int draft_make_folder(struct site *site, struct err *err)
{
    const struct fs_attr private = { 0700, FS_KEEP, FS_KEEP };

    if (site_mkdir(site, &private, err) < 0)
        return -1;
    if (!site->log || draft_log_add_folder(site->log, site, err) == 0)
        return 0;
    draft_drop_folder(site);
    return -1;
}

void draft_drop_folder(struct site *site)
{
    struct err ignored; /* the first error is the one to report */

    if ((site_look(site, &ignored) < 0 || tree_discard_at(site, &ignored) < 0) && site->log)
        draft_log_keep(site->log);
}
