#include "core/sys/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/digest.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/sys/clock.h"
#include "core/sys/cancel.h"
#include "core/sys/fd.h"
#include "core/sys/site.h"

/* The first buffer for a file without a size (as in /proc). */
/* Bytes read between two checks for cancellation. */
#define READ_PIECE ((size_t)64 << 20)
#define FIRST_ROOM 4096
#define HASH_PIECE ((size_t)64 << 10)
/* Length of the random part of draft names. */
#define TEMP_PREFIX ".zester-"
#define TEMP_DIGITS 16

static const char *const kind_names[] = {
    [FS_NONE] = "nothing",       [FS_FILE] = "file",        [FS_FOLDER] = "folder",
    [FS_LINK] = "link",          [FS_FIFO] = "fifo",        [FS_SOCKET] = "socket",
    [FS_BLOCK] = "block device", [FS_CHAR] = "char device",
};
_Static_assert(ARRAY_LEN(kind_names) == FS_KINDS, "every kind has a name");

const char *fs_kind_name(enum fs_kind kind)
{
    return kind_names[kind];
}

/* --- looking ------------------------------------------------------------------ */

static enum fs_kind get_file_kind(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG: return FS_FILE;
    case S_IFDIR: return FS_FOLDER;
    case S_IFLNK: return FS_LINK;
    case S_IFIFO: return FS_FIFO;
    case S_IFSOCK: return FS_SOCKET;
    case S_IFBLK: return FS_BLOCK;
    default: return FS_CHAR;
    }
}

void fs_info_from(const struct stat *st, struct fs_info *ret_info)
{
    *ret_info = (struct fs_info){
        .kind = get_file_kind(st->st_mode),
        .mode = st->st_mode & 07777,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .size = (uint64_t)st->st_size,
        .atime = st->st_atim.tv_sec * CLOCK_SECOND + st->st_atim.tv_nsec,
        .mtime = st->st_mtim.tv_sec * CLOCK_SECOND + st->st_mtim.tv_nsec,
        .ctime = st->st_ctim.tv_sec * CLOCK_SECOND + st->st_ctim.tv_nsec,
        .device = st->st_dev,
        .inode = st->st_ino,
        .links = st->st_nlink,
        .node = st->st_rdev,
    };
}

static struct timespec spec_from(struct statx_timestamp t)
{
    return (struct timespec){ .tv_sec = t.tv_sec, .tv_nsec = t.tv_nsec };
}

int fs_look_at(int folder, const char *name, struct fs_info *ret_info)
{
    struct statx st;
    struct stat old;

    if (statx(folder, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
              &st) < 0)
        return -1;
    old = (struct stat){
        .st_mode = st.stx_mode,
        .st_uid = st.stx_uid,
        .st_gid = st.stx_gid,
        .st_size = (off_t)st.stx_size,
        .st_atim = spec_from(st.stx_atime),
        .st_mtim = spec_from(st.stx_mtime),
        .st_ctim = spec_from(st.stx_ctime),
        .st_dev = makedev(st.stx_dev_major, st.stx_dev_minor),
        .st_ino = st.stx_ino,
        .st_nlink = st.stx_nlink,
        .st_rdev = makedev(st.stx_rdev_major, st.stx_rdev_minor),
    };
    fs_info_from(&old, ret_info);
    if (st.stx_mask & STATX_BTIME)
        ret_info->born = st.stx_btime.tv_sec * CLOCK_SECOND + st.stx_btime.tv_nsec;
    return 0;
}

struct fs_id fs_id_of(const struct fs_info *info)
{
    return (struct fs_id){ (int64_t)info->device, (int64_t)info->inode, info->born };
}

bool fs_id_is(const struct fs_id *id, const struct fs_info *info)
{
    const struct fs_id now = fs_id_of(info);

    return id->born != 0 && id->device == now.device && id->inode == now.inode &&
           id->born == now.born;
}

static bool is_file_absence(int errnum)
{
    return errnum == ENOENT || errnum == ENOTDIR;
}

static int read_path_info(const char *path, int flags, struct fs_info *ret_info, struct err *err)
{
    struct stat st;

    if (fstatat(AT_FDCWD, path, &st, flags) == 0) {
        fs_info_from(&st, ret_info);
        return 0;
    }
    if (!is_file_absence(errno))
        return err_sys(err, errno, "stat '%s'", path);
    *ret_info = (struct fs_info){ .kind = FS_NONE };
    return 0;
}

int fs_stat(const char *path, struct fs_info *ret_info, struct err *err)
{
    return read_path_info(path, 0, ret_info, err);
}

int fs_lstat(const char *path, struct fs_info *ret_info, struct err *err)
{
    return read_path_info(path, AT_SYMLINK_NOFOLLOW, ret_info, err);
}

/* --- reading ------------------------------------------------------------------ */

static int refuse_large_file(const char *path, size_t max, struct err *err)
{
    return err_set(err, ERR_LIMIT, "read '%s': larger than the limit of %zu bytes", path, max);
}

/* Ask for one byte more than expected: a short answer with the expected size is the end. */
static int read_whole_file(struct arena *arena, int fd, const char *path, size_t max,
                           struct str *ret_text, struct err *err)
{
    struct stat st;
    size_t expected, room, got, n = 0;
    char *text;

    if (fstat(fd, &st) < 0)
        return err_sys(err, errno, "stat '%s'", path);
    if (S_ISDIR(st.st_mode))
        return err_sys(err, EISDIR, "read '%s'", path);
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > max)
        return refuse_large_file(path, max, err);
    expected = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size : 0;
    room = (expected > 0 ? expected : FIRST_ROOM) + 1;
    text = arena_alloc(arena, room + 1);
    for (;;) {
        const size_t piece = room - n < READ_PIECE ? room - n : READ_PIECE;

        if (cancel_check(err) < 0 || fd_read_some(fd, text + n, piece, &got, err) < 0)
            return err_wrap(err, "read '%s'", path);
        n += got;
        if (n > max)
            return refuse_large_file(path, max, err);
        if (got == 0 || (got < piece && n == expected))
            break;
        if (n < room)
            continue;
        text = arena_grow(arena, text, room + 1, room * 2 + 1);
        room *= 2;
    }
    text[n] = '\0';
    *ret_text = (struct str){ text, n };
    return 0;
}

/* -1 when it does not exist. */
static int open_existing_file(const char *path, int *ret_fd, struct err *err)
{
    /* a fifo without a writer must not block, nor a terminal become ours */
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return *ret_fd >= 0 || is_file_absence(errno) ? 0 : err_sys(err, errno, "read '%s'", path);
}

int fs_read(struct arena *arena, const char *path, size_t max, struct str *ret_text,
            struct err *err)
{
    AUTO_FD int fd = -1;

    if (open_existing_file(path, &fd, err) < 0)
        return -1;
    if (fd < 0) {
        *ret_text = (struct str){ NULL, 0 };
        return 0;
    }
    return read_whole_file(arena, fd, path, max, ret_text, err);
}

int fs_open(const char *path, int *ret_fd, struct fs_info *ret_info, struct err *err)
{
    AUTO_FD int fd = -1;
    struct stat st;

    if (open_existing_file(path, &fd, err) < 0)
        return -1;
    *ret_info = (struct fs_info){ .kind = FS_NONE };
    if (fd >= 0 && fstat(fd, &st) < 0)
        return err_sys(err, errno, "stat '%s'", path);
    if (fd >= 0)
        fs_info_from(&st, ret_info);
    *ret_fd = fd_take(&fd);
    return 0;
}

struct hashing {
    int fd;
    const char *name;
    char *piece;
};

static int read_piece(void *self, struct str *ret_piece, struct err *err)
{
    const struct hashing *hashing = self;
    size_t n;

    if (cancel_check(err) < 0 || fd_read(hashing->fd, hashing->piece, HASH_PIECE, &n, err) < 0)
        return err_wrap(err, "read '%s'", hashing->name);
    *ret_piece = (struct str){ hashing->piece, n };
    return 0;
}

int fs_hash_fd(int fd, const char *name, const struct digest *digest, char *ret_hex,
               struct err *err)
{
    AUTO_FREE char *piece = mem_alloc(HASH_PIECE);
    struct hashing hashing = { fd, name, piece };

    if (lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "read '%s' from the beginning", name);
    return digest_hex_read(digest, read_piece, &hashing, ret_hex, err);
}

int fs_read_fd(struct arena *arena, int fd, const char *name, size_t max, struct str *ret_text,
               struct err *err)
{
    return read_whole_file(arena, fd, name, max, ret_text, err);
}

int fs_readlink(struct arena *arena, const char *path, const char **ret_target, struct err *err)
{
    char target[PATH_MAX];
    ssize_t n = readlink(path, target, sizeof(target));

    if (n < 0 && !is_file_absence(errno) && errno != EINVAL)
        return err_sys(err, errno, "read the link '%s'", path);
    *ret_target = n < 0 ? NULL : arena_strndup(arena, target, (size_t)n);
    return 0;
}

static int compare_entry_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Closes the folder. */
static int list_folder_names(struct arena *arena, DIR *dir, const char *path,
                             struct fs_names *ret_names, struct err *err)
{
    struct fs_names names = { VEC_INIT };
    int errnum;

    errno = 0;
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (!is_dot(entry->d_name))
            VEC_PUSH_IN(arena, &names.list, arena_strdup(arena, entry->d_name));
    errnum = errno; /* only readdir could have set it: the arena does not fail */
    (void)closedir(dir);
    if (errnum != 0)
        return err_sys(err, errnum, "list '%s'", path);
    if (names.list.n > 1)
        qsort(names.list.p, names.list.n, sizeof(*names.list.p), compare_entry_names);
    *ret_names = names;
    return 0;
}

int fs_list(struct arena *arena, const char *path, struct fs_names *ret_names, struct err *err)
{
    DIR *dir = opendir(path);

    if (!dir)
        return err_sys(err, errno, "list '%s'", path);
    return list_folder_names(arena, dir, path, ret_names, err);
}

int fs_list_fd(struct arena *arena, int fd, const char *name, struct fs_names *ret_names,
               struct err *err)
{
    AUTO_FD int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);

    if (!dir)
        return err_sys(err, errno, "list '%s'", name);
    (void)fd_take(&copy); /* owned by the stream now */
    return list_folder_names(arena, dir, name, ret_names, err);
}

/* --- changing ----------------------------------------------------------------- */

void fs_temp_name(char name[FS_TEMP_NAME_SIZE])
{
    uint64_t random = 0;

    (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK); /* O_EXCL guards against repeats */
    if (random == 0)
        random = (uint64_t)clock_real();
    (void)snprintf(name, FS_TEMP_NAME_SIZE, TEMP_PREFIX "%016llx", (unsigned long long)random);
}

bool fs_is_temp_name(const char *name)
{
    const size_t prefix = strlen(TEMP_PREFIX);

    return strncmp(name, TEMP_PREFIX, prefix) == 0 && strlen(name) == prefix + TEMP_DIGITS &&
           strspn(name + prefix, "0123456789abcdef") == TEMP_DIGITS;
}

/* A folder that another process made at the same moment is fine. */
static int make_one(const char *path, mode_t mode, struct err *err)
{
    const struct fs_attr attr = { mode, FS_KEEP, FS_KEEP };
    AUTO_SITE struct site site = SITE_INIT;
    struct fs_info info;

    if (site_walk(&site, path, SITE_OWN | SITE_FOLLOW, err) < 0)
        return -1;
    if (site_mkdir(&site, &attr, err) == 0)
        return 0;
    if (err->errnum != EEXIST || fs_stat(path, &info, err) < 0)
        return -1;
    if (info.kind != FS_FOLDER)
        return err_sys(err, ENOTDIR, "make the folder '%s'", path);
    return 0;
}

int fs_mkdirs(const char *path, mode_t mode, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fs_info info;
    char *part;

    if (fs_stat(path, &info, err) < 0)
        return -1;
    if (info.kind == FS_FOLDER)
        return 0;
    part = arena_strdup(&arena, path);
    for (char *at = part + 1; part[0] && *at; at++) {
        if (*at != '/' || at[-1] == '/' || at[strspn(at, "/")] == '\0')
            continue; /* the last part, with its slashes, is for the end */
        *at = '\0';
        if (fs_stat(part, &info, err) < 0)
            return -1;
        if (info.kind != FS_FOLDER && make_one(part, 0755, err) < 0)
            return -1;
        *at = '/';
    }
    return make_one(path, mode, err);
}

int fs_rename(const char *from, const char *to, struct err *err)
{
    AUTO_SITE struct site old = SITE_INIT, new = SITE_INIT;

    if (site_walk(&old, from, SITE_OWN, err) < 0 || site_walk(&new, to, SITE_OWN, err) < 0)
        return -1;
    return site_rename(&old, &new, err);
}

int fs_unlink(const char *path, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    return site_walk(&site, path, SITE_OWN, err) < 0 ? -1 : site_unlink(&site, err);
}

int fs_utimens(const char *path, int64_t atime, int64_t mtime, struct err *err)
{
    AUTO_SITE struct site site = SITE_INIT;

    if (site_walk(&site, path, SITE_OWN, err) < 0)
        return -1;
    return site_set_times(&site, atime, mtime, err);
}

int fs_sync_folder(const char *path, struct err *err)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return err_sys(err, errno, "sync the folder '%s'", path);
    return 0;
}
int fs_sync_system(const char *folder, struct err *err)
{
    AUTO_FD int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || syncfs(fd) < 0)
        return err_sys(err, errno, "sync the file system of '%s'", folder);
    return 0;
}
