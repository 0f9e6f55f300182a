/*
 * site - a path that has been walked: an open folder, a name in it, and what was found there.
 *
 * A path is text, and each system call resolves it anew. The owner of a folder on the path may swap
 * it for a link between two calls, and then the checked file is not the changed one. So a path is
 * walked once, from `/`, one open folder after the other, with links read by ourselves, and
 * everything after that happens in the folder where the walk ended.
 *
 *     site_walk -> { site_open, site_read, site_set, ... }... -> site_done (always)
 *
 * The rule of the walk. Root and the user of this process are trusted, all others are not.
 *
 *   - From an untrusted user's folder the walk continues only to a folder of the same owner. (Any
 * other may have been moved there by that user, or be a mount: there is no way to know.)
 *   - A link in such a folder, or a link of such an owner anywhere, is followed only if its target,
 * or the folder of its target, belongs to that owner. A link of root in such a folder is followed
 * under the same condition, since the owner of the folder chooses its name.
 *   - A link in a world-writable folder without the sticky bit is not followed.
 *
 * The last part is not a step: any user may own it. The owner of the folder can change its name in
 * any case, so it is replaced, made and removed as a name in that folder, never through its target.
 * Reading it, or setting its owner, mode and times in place, is refused when it is a file with
 * several names and a user other than its owner could have made this one: a file of root may have
 * been linked there. A file with one name, or a folder, can only have been moved there from another
 * folder of the same user.
 *
 * After the walk no link is followed, and an in-place change affects the found file or fails.
 *
 * Memory: site_done frees. Threads: any, one site in one thread at a time.
 */
#ifndef CORE_SYS_SITE_H
#define CORE_SYS_SITE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/str.h"
#include "core/sys/fs.h"

struct arena;
struct draft_log;
struct err;

struct site {
    int folder;            /* the folder, for the ...at calls (O_PATH); -1: it does not exist */
    char *path;            /* for messages; a followed last link is replaced by its target */
    const char *name;      /* within `folder`; "." for the root folder */
    struct fs_info above;  /* info of `folder` */
    struct fs_info info;   /* the file that was found; or FS_NONE */
    bool borrowed;         /* `folder` belongs to another user */
    struct draft_log *log; /* log for drafts made beside it; NULL: none */
};

#define SITE_INIT                                                                                  \
    {                                                                                              \
        .folder = -1                                                                               \
    }

enum site_flags {
    SITE_FOLLOW = 1, /* follow a link that is the last part, too */
    /* To a file that we once found or made: a folder of a trusted owner that no other user may
     * write to may be entered from any user's folder. No link is followed after that. */
    SITE_RETURN = 2,
    SITE_OWN = 4, /* in our own data, whatever owner the administrator gave it: without the rule */
};

/* An absolute path (any path in our own data). A missing file or folder is FS_NONE. On failure
 * there is nothing to release. */
int site_walk(struct site *site, const char *path, unsigned flags, struct err *err);
/* The result of an earlier walk of the path. */
struct site_way {
    struct fs_id folder; /* its folder, which is entered again wherever the path leads now */
    /* Was there a folder with this owner at this path? May be NULL. */
    bool (*knows)(void *self, const char *path, uid_t owner);
    void *self;
};

/* SITE_RETURN to a path by what an earlier walk found: its folder is found again even if other
 * users own folders on the way, and so is a new one in its place. */
int site_walk_back(struct site *site, const char *path, const struct site_way *way,
                   struct err *err);
/* A site from a walk over a tree: borrows `folder`. */
void site_enter(struct site *site, int folder, const struct fs_info *above, const char *name,
                const char *path, const struct fs_info *info);
void site_done(struct site *site);
#define AUTO_SITE __attribute__((cleanup(site_done)))

/* --- looking --------------------------------------------------------------------------- */

/* Update `info` to the current state. */
int site_look(struct site *site, struct err *err);
/* Open for reading; `site->info` is that of the open file. -1 for a missing file, or a link, which
 * is in `info`. Does not wait for the other end of a fifo. */
int site_open(struct site *site, int *ret_fd, struct err *err);
/* The same for a file whose name another user may have made: for a copy that only we can read. */
int site_peek(struct site *site, int *ret_fd, struct err *err);
/* As fs_read and fs_readlink. */
int site_read(struct arena *arena, struct site *site, size_t max, struct str *ret_text,
              struct err *err);
int site_readlink(struct arena *arena, const struct site *site, const char **ret_target,
                  struct err *err);
/* For reading only: one call instead of a walk. Opens a file for reading when no part of the path
 * is a link; else, or without support of the system, -1. */
int site_glance(const char *path);
/* The same below an open folder, for any kind of file, as an O_PATH descriptor. */
int site_glance_below(int folder, const char *path);
/* The found file as an O_PATH descriptor: fails when it is another one now, or must not be changed
 * in place. */
int site_hold(const struct site *site, int *ret_fd, struct err *err);
/* The same for a file that the caller has changed before: its name is not checked. */
int site_hold_known(const struct site *site, int *ret_fd, struct err *err);
/* A path for such a descriptor, for calls that take paths only (extended attributes, for example).
 */
#define SITE_FD_PATH_SIZE 32
void site_fd_path(int fd, char path[SITE_FD_PATH_SIZE]);

/* --- changing -------------------------------------------------------------------------- */

/* Set the owner, then the mode (a new owner clears set-id bits); FS_KEEP leaves them. Links have no
 * mode. */
int site_set(struct site *site, const struct fs_attr *attr, struct err *err);
/* Access and modification time, wall nanoseconds. */
int site_set_times(const struct site *site, int64_t atime, int64_t mtime, struct err *err);
/* The same for a descriptor of site_hold; `path` is for messages. */
int site_set_held(int fd, enum fs_kind kind, const char *path, const struct fs_attr *attr,
                  struct err *err);
int site_set_times_held(int fd, const char *path, int64_t atime, int64_t mtime, struct err *err);
/* A new, empty file with private permissions, open for reading and writing. EEXIST when the name
 * exists. */
int site_create(struct site *site, int *ret_fd, struct err *err);
/* A new folder with these attributes, whatever the umask; FS_KEEP in the mode is 0755. EEXIST when
 * the name exists. Not synced. */
int site_mkdir(struct site *site, const struct fs_attr *attr, struct err *err);
/* A new fifo or device. */
int site_mknod(struct site *site, const struct fs_info *like, struct err *err);
/* A hard link to the file found at `of`. EEXIST when the name exists. */
int site_link(struct site *site, const struct site *of, struct err *err);
/* The same for an open descriptor; `of` is for messages. */
int site_link_held(struct site *site, int fd, const char *of, struct err *err);
/* A symbolic link in one step; replaces a link or a file, never a folder. */
int site_symlink(struct site *site, const char *target, struct err *err);
int site_rename(const struct site *from, const struct site *to, struct err *err);
/* Remove a file or link, or an empty folder; a missing one is fine. */
int site_unlink(const struct site *site, struct err *err);
int site_rmdir(const struct site *site, struct err *err);
/* A name for a draft in the folder of the site, noted in its log. */
int site_draft_name(const struct site *site, char name[FS_TEMP_NAME_SIZE], struct err *err);
/* Remove the draft of that name; if that fails, the log tries again later. */
void site_drop_draft(const struct site *site, const char *name);
/* Sync the names in the folder. */
int site_sync(const struct site *site, struct err *err);

/* Can only root and our own user rename files that we make there? Then a path always leads to the
 * same file and may be passed to a program or library. */
bool site_is_guarded(const struct site *site);
/* Is it in the folder of `base`, or below? False when it is missing. */
int site_is_below(const struct site *site, const struct site *base, bool *ret, struct err *err);

#endif
