#include "commands/cli/fleet/backup/backup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/ed25519.h"
#include "core/base/err.h"
#include "core/sys/cancel.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* --- writing -------------------------------------------------------------------------- */

static int write_backup(void *self, struct str bytes, struct err *err)
{
    struct backup_file *file = self;

    if (cancel_check(err) < 0)
        return -1;
    file->size += bytes.n;
    return fd_write(file->fd, bytes.p, bytes.n, err) < 0 ? err_wrap(err, "write '%s'", file->part)
                                                         : 0;
}

static int check_backup(const char *path, struct err *err)
{
    AUTO_FD int fd = -1;
    char bytes[ARCHIVE_BEGIN];
    struct fs_info info;
    size_t n = 0;

    if (fs_open(path, &fd, &info, err) < 0 ||
        (fd >= 0 && fd_read(fd, bytes, sizeof(bytes), &n, err) < 0))
        return -1;
    return n == 0 || archive_has_begun((struct str){ bytes, n })
               ? 0
               : err_set(err, ERR_INVALID,
                         "'%s' is there and is not a backup of a fleet: it is not replaced", path);
}

/* A name that was mistyped must not cost a file, a key or a device. */
static int check_replaced(const char *path, struct err *err)
{
    struct fs_info info;

    if (fs_lstat(path, &info, err) < 0)
        return -1;
    if (info.kind != FS_NONE && info.kind != FS_FILE)
        return err_set(err, ERR_INVALID, "'%s' is not a file, but a %s", path,
                       fs_kind_name(info.kind));
    return info.kind == FS_NONE ? 0 : check_backup(path, err);
}

/* Overwrites the file that an earlier, killed backup left there. */
static int open_part(struct backup_file *file, struct err *err)
{
    file->fd = open(file->part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file->fd < 0)
        return err_sys(err, errno, "create '%s'", file->part);
    if (flock(file->fd, LOCK_EX | LOCK_NB) < 0) {
        fd_close(&file->fd);
        return err_set(err, ERR_BUSY, "another backup is writing '%s'", file->part);
    }
    if (fchmod(file->fd, 0600) < 0 || ftruncate(file->fd, 0) < 0)
        return err_sys(err, errno, "create '%s'", file->part);
    return 0;
}

int backup_file_create(struct arena *arena, const char *path, struct backup_file *ret,
                       struct err *err)
{
    *ret = (struct backup_file){ .path = path,
                                 .part = arena_printf(arena, "%s" BACKUP_FILE_PART, path),
                                 .fd = -1 };
    ret->writer = (struct archive_writer){ .write = write_backup, .self = ret };
    return check_replaced(path, err) < 0 ? -1 : open_part(ret, err);
}

int backup_file_commit(struct backup_file *file, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;

    if (fsync(file->fd) < 0)
        return err_sys(err, errno, "write '%s'", file->part);
    if (fs_rename(file->part, file->path, err) < 0 ||
        fs_sync_folder(path_dirname(&arena, file->path), err) < 0)
        return -1;
    file->part = NULL;
    return 0;
}

/* --- reading -------------------------------------------------------------------------- */

static int read_backup(void *self, void *bytes, size_t n, size_t *ret_n, struct err *err)
{
    const struct backup_file *file = self;

    if (cancel_check(err) < 0)
        return -1;
    return fd_read(file->fd, bytes, n, ret_n, err);
}

static void begin_reading(struct backup_file *file)
{
    archive_reader_done(&file->reader);
    file->reader = (struct archive_reader){ .read = read_backup, .self = file };
}

static int open_and_unlock(struct backup_file *file, const struct backup_key_options *options,
                           struct err *err)
{
    begin_reading(file);
    if (archive_read_head(&file->reader, &file->head, err) < 0 ||
        backup_key_find(options, &file->head, file->key, err) < 0 ||
        archive_unlock(&file->reader, &file->head, file->key, err) < 0)
        return err_wrap(err, "'%s'", file->path);
    return 0;
}

int backup_file_open(const char *path, const struct backup_key_options *options,
                     struct backup_file *ret, struct err *err)
{
    struct fs_info info;

    *ret = (struct backup_file){ .path = path, .fd = -1 };
    if (fs_open(path, &ret->fd, &info, err) < 0)
        return -1;
    if (ret->fd < 0)
        return err_set(err, ERR_NOT_FOUND, "'%s' does not exist", path);
    ret->size = info.size;
    return open_and_unlock(ret, options, err);
}

int backup_file_rewind(struct backup_file *file, struct err *err)
{
    struct archive_head head;

    if (lseek(file->fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "read '%s'", file->path);
    begin_reading(file);
    if (archive_read_head(&file->reader, &head, err) < 0 ||
        archive_unlock(&file->reader, &head, file->key, err) < 0)
        return err_wrap(err, "'%s'", file->path);
    return 0;
}

int backup_file_next(struct backup_file *file, struct archive_item *ret_item, struct err *err)
{
    return archive_next(&file->reader, ret_item, err) < 0 ? err_wrap(err, "'%s'", file->path) : 0;
}

void backup_file_done(struct backup_file *file)
{
    struct err ignored; /* the first error is the one to report */

    if (file->part && file->fd >= 0)
        (void)fs_unlink(file->part, &ignored);
    fd_close(&file->fd);
    archive_writer_done(&file->writer);
    archive_reader_done(&file->reader);
    ed25519_wipe(file->key, sizeof(file->key));
}
