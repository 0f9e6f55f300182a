/*
 * fs - files, folders and links by path, for our own data and for reading.
 *
 * Files of other users are changed through core/sys/site.h, whose walk cannot be redirected;
 * changes here use the same code, but follow every link.
 *
 * "Not there" is a result when reading (a NULL view, FS_NONE) and not an error when removing.
 * Errors name the path and the operation. Shared files are replaced whole: readers see the old or
 * the new content, even if the machine stops in the middle (core/sys/draft.h does the work).
 *
 * Memory: results are in the arena. Threads: any.
 */
#ifndef CORE_SYS_FS_H
#define CORE_SYS_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct digest;
struct err;

enum fs_kind {
    FS_NONE, /* not there */
    FS_FILE,
    FS_FOLDER,
    FS_LINK,
    FS_FIFO,
    FS_SOCKET,
    FS_BLOCK,
    FS_CHAR,
    FS_KINDS,
};

/* "file", "folder", "link", ... for messages. */
const char *fs_kind_name(enum fs_kind kind);

struct fs_info {
    enum fs_kind kind;
    mode_t mode; /* permission bits with set-id and sticky, 07777 */
    uid_t uid;
    gid_t gid;
    uint64_t size;
    int64_t atime; /* nanoseconds of wall time */
    int64_t mtime; /* the same */
    int64_t ctime; /* the same, of the last change of any kind; cannot be set */
    int64_t born;  /* the same, of its creation; 0: unknown */
    dev_t device;
    ino_t inode;
    nlink_t links;
    dev_t node; /* device number of a block or char device */
};

/* Identifies a file or folder, whatever its name. `born` tells it from a later one with the same
 * inode number; all zero: unknown. */
struct fs_id {
    int64_t device, inode, born;
};
struct fs_id fs_id_of(const struct fs_info *info);
/* False when either is unknown. */
bool fs_id_is(const struct fs_id *id, const struct fs_info *info);

/* As a mode, owner or group: keep the current one, or the default for something new. */
#define FS_KEEP     ((uint32_t)-1)
#define FS_NEW_MODE 0644

struct fs_attr {
    mode_t mode;
    uid_t uid;
    gid_t gid;
};

#define FS_ATTR_KEEP                                                                               \
    {                                                                                              \
        FS_KEEP, FS_KEEP, FS_KEEP                                                                  \
    }

enum fs_sync {
    FS_SYNC,    /* on disk, file and folder, before the call returns */
    FS_NO_SYNC, /* readers never see a torn file; it may be lost when the machine stops */
};

struct fs_replace_options {
    struct fs_attr attr;
    enum fs_sync sync;
    bool follow; /* replace the target of a symbolic link, not the link */
    bool fresh;  /* fail when the name exists */
    bool as_is;  /* ignore `attr`: the draft has its owner, mode and attributes already */
    bool record; /* a file of our own, without extended attributes of users */
    const struct fs_info
        *seen; /* the source of the content: fail when the file is another one now */
};

/* With and without following links. A missing file is FS_NONE. */
int fs_stat(const char *path, struct fs_info *ret_info, struct err *err);
int fs_lstat(const char *path, struct fs_info *ret_info, struct err *err);

/* The whole file, NUL-terminated (not counted); a NULL view when it does not exist. Fails with
 * ERR_LIMIT above `max` bytes. */
int fs_read(struct arena *arena, const char *path, size_t max, struct str *ret_text,
            struct err *err);
/* The rest of an open descriptor, which stays open; `name` is for messages. */
int fs_read_fd(struct arena *arena, int fd, const char *name, size_t max, struct str *ret_text,
               struct err *err);
/* Open a file for reading; -1 when it does not exist. `ret_info` is that of the open file. */
int fs_open(const char *path, int *ret_fd, struct fs_info *ret_info, struct err *err);
/* The hash of an open file from its beginning, in pieces; can be canceled (cancel_heed). */
int fs_hash_fd(int fd, const char *name, const struct digest *digest, char *ret_hex,
               struct err *err);
/* The target of a symbolic link; NULL when there is none, or when it is not a link. */
int fs_readlink(struct arena *arena, const char *path, const char **ret_target, struct err *err);

/* The names in a folder, without "." and "..", in byte order. */
struct fs_names {
    VEC(const char *) list;
};
int fs_list(struct arena *arena, const char *path, struct fs_names *ret_names, struct err *err);
/* The same for an open folder, which stays open; `name` is for messages. */
int fs_list_fd(struct arena *arena, int fd, const char *name, struct fs_names *ret_names,
               struct err *err);

/* Give `path` this content in one step. No options: keep mode, owner and extended attributes of the
 * old file, and sync. */
int fs_replace(const char *path, struct str content, const struct fs_replace_options *options,
               struct err *err);
/* The same, but a file with exactly this content is not written, so a full disk does not matter
 * then. */
int fs_keep(const char *path, struct str content, const struct fs_replace_options *options,
            struct err *err);
/* A new file; fails with EEXIST when the name exists. Synced. */
int fs_write(const char *path, struct str content, mode_t mode, struct err *err);
/* Copy `from` in one step, with shared blocks where the file system can. A new file gets the mode
 * of `from`. */
int fs_copy(const char *from, const char *path, const struct fs_replace_options *options,
            struct err *err);

/* A folder with all folders above it, those with mode 0755. An existing one keeps its mode. */
int fs_mkdirs(const char *path, mode_t mode, struct err *err);
int fs_rename(const char *from, const char *to, struct err *err);
/* Remove a file or link, or an empty folder; a missing one is fine. For trees: core/sys/tree.h. */
int fs_unlink(const char *path, struct err *err);

/* Access and modification time, wall nanoseconds, of a link itself. */
int fs_utimens(const char *path, int64_t atime, int64_t mtime, struct err *err);

/* Make changes to the names in a folder durable. */
int fs_sync_folder(const char *path, struct err *err);
/* Sync the whole file system of a folder: one call for any number of files. Reports earlier write
 * errors as well. */
int fs_sync_system(const char *folder, struct err *err);

/* A unique name for a draft. */
#define FS_TEMP_NAME_SIZE 32
void fs_temp_name(char name[FS_TEMP_NAME_SIZE]);
/* Is it such a name? A killed process may have left one. */
bool fs_is_temp_name(const char *name);
/* For walks: the entry `name` of an open folder, or with "" the descriptor itself. Follows no link.
 * Returns -1 with errno. */
int fs_look_at(int folder, const char *name, struct fs_info *ret_info);
/* Convert the result of fstat; `born` is unknown. */
struct stat;
void fs_info_from(const struct stat *st, struct fs_info *ret_info);

#endif
