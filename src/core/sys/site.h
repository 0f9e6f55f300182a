/*
 * site - a path that has been walked: an open folder, a name in it, and what was found there.
 *
 * A path is text, and what it leads to is decided anew at every call that is given it. The owner of
 * a folder on the path may swap it for a link between two calls, and then what was checked is not
 * what is changed. So a path is walked once, from `/`, one open folder after the other, links read
 * by ourselves, and everything after that happens in the folder that the walk ended in.
 *
 *     site_walk -> { site_open, site_read, site_set, ... }... -> site_done (always)
 *
 * The rule of the walk. Root and the user of this process are trusted, all others are not.
 *
 *   - From a folder of somebody who is not trusted the walk goes on only to a folder of the same
 *     owner. (It may have been moved there by them, or be a mount: there is no way to know.)
 *   - A link in such a folder, or a link of such an owner anywhere, is followed only to what
 *     belongs to that owner: the thing itself, or the folder that it is in. Links of root's in
 *     such a folder are followed under the same condition, since the owner of the folder chooses
 *     the name that they have.
 *   - A link in a folder that everybody may write to and that is not sticky is not followed.
 *
 * The last part is not a step: it may belong to anybody. Its name can be given away or taken by
 * the owner of the folder in any case, so it is replaced, made and removed as a name in that folder
 * and never through it. To read it or to set its owner, mode and times in place is refused when it
 * is a file with several names and somebody who is not its owner could have given it this one: a
 * file of root's may have been linked there. A file with one name, and a folder, can only have been
 * moved there from another folder of the same user.
 *
 * Nothing is followed after the walk, and what is changed in place is what was found, or it fails.
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
    int folder;            /* where it is, for the ...at calls (O_PATH); -1: that is not there */
    char *path;            /* for messages; a last link that was followed is replaced */
    const char *name;      /* within `folder`; "." for the root folder */
    struct fs_info above;  /* of `folder` */
    struct fs_info info;   /* what was found; FS_NONE */
    bool borrowed;         /* `folder` is somebody else's */
    struct draft_log *log; /* of drafts that are made beside it; NULL: none */
};

#define SITE_INIT                                                                                  \
    {                                                                                              \
        .folder = -1                                                                               \
    }

enum site_flags {
    SITE_FOLLOW = 1, /* a link that is the last part, too */
    /* What we once found or made there: a folder of a trusted owner that nobody else may write to
     * may be entered from anybody's folder. No link is followed after that. */
    SITE_RETURN = 2,
    SITE_OWN = 4, /* in our own data, whoever the administrator gave it to: without the rule */
};

/* An absolute path (of our own data any). What is not there, or whose folder is not there, is
 * FS_NONE. On failure there is nothing to release. */
int site_walk(struct site *site, const char *path, unsigned flags, struct err *err);
/* What is known of a path that was walked before. */
struct site_way {
    struct fs_id folder; /* that it was in: entered again whichever way the path leads there now */
    /* Was there a folder with this owner at this path? May be NULL. */
    bool (*knows)(void *self, const char *path, uid_t owner);
    void *self;
};

/* SITE_RETURN to a path by what is known of it: the folder that it was in is found again although
 * others own folders on the way, and so is one that was made anew in its place. */
int site_walk_back(struct site *site, const char *path, const struct site_way *way,
                   struct err *err);
/* What a walk over a tree found: borrows `folder`. */
void site_enter(struct site *site, int folder, const struct fs_info *above, const char *name,
                const char *path, const struct fs_info *info);
void site_done(struct site *site);
#define AUTO_SITE __attribute__((cleanup(site_done)))

/* --- looking --------------------------------------------------------------------------- */

/* Look again: what is there now? */
int site_look(struct site *site, struct err *err);
/* Open for reading; `site->info` is of what was opened then. -1 when there is nothing, or a link,
 * which is in `info`. Does not wait for the other end of a fifo. */
int site_open(struct site *site, int *ret_fd, struct err *err);
/* The same whoever gave it that name: for a copy that only we can read. */
int site_peek(struct site *site, int *ret_fd, struct err *err);
/* As fs_read and fs_readlink. */
int site_read(struct arena *arena, struct site *site, size_t max, struct str *ret_text,
              struct err *err);
int site_readlink(struct arena *arena, const struct site *site, const char **ret_target,
                  struct err *err);
/* For reading only: one call instead of a walk. Opens a file for reading when
 * no part of the path is a link; else, or when the system does not have the call, -1. */
int site_glance(const char *path);
/* The same below an open folder, and of anything, as an O_PATH descriptor. */
int site_glance_below(int folder, const char *path);
/* What was found, as an O_PATH descriptor: fails when there is
 * something else now, or when it may not be touched in site. */
int site_hold(const struct site *site, int *ret_fd, struct err *err);
/* The same for what the caller knows to be the file that it has changed before, whoever gave it
 * that name. */
int site_hold_known(const struct site *site, int *ret_fd, struct err *err);
/* What such a descriptor is, for calls that know paths only (of extended attributes, say). */
#define SITE_FD_PATH_SIZE 32
void site_fd_path(int fd, char path[SITE_FD_PATH_SIZE]);

/* --- changing -------------------------------------------------------------------------- */

/* Owner, then mode (a new owner clears set-id bits); FS_KEEP leaves them. A mode is not set for
 * a link. */
int site_set(struct site *site, const struct fs_attr *attr, struct err *err);
/* Access and modification time, wall nanoseconds. */
int site_set_times(const struct site *site, int64_t atime, int64_t mtime, struct err *err);
/* The same for a descriptor of site_hold; `path` is for messages. */
int site_set_held(int fd, enum fs_kind kind, const char *path, const struct fs_attr *attr,
                  struct err *err);
int site_set_times_held(int fd, const char *path, int64_t atime, int64_t mtime, struct err *err);
/* A new file, empty and ours alone, open for reading and writing. EEXIST when there is something.
 */
int site_create(struct site *site, int *ret_fd, struct err *err);
/* A new folder with these attributes, whatever the umask; FS_KEEP in the mode is 0755. EEXIST when
 * there is something. Not synced. */
int site_mkdir(struct site *site, const struct fs_attr *attr, struct err *err);
/* A new fifo or device. */
int site_mknod(struct site *site, const struct fs_info *like, struct err *err);
/* Another name of the file that was found at `of`. EEXIST when there is something. */
int site_link(struct site *site, const struct site *of, struct err *err);
/* The same for a file that is held; `of` is for messages. */
int site_link_held(struct site *site, int fd, const char *of, struct err *err);
/* A symbolic link in one step; replaces a link or a file, never a folder. */
int site_symlink(struct site *site, const char *target, struct err *err);
int site_rename(const struct site *from, const struct site *to, struct err *err);
/* A file or link, or an empty folder; not there is fine. */
int site_unlink(const struct site *site, struct err *err);
int site_rmdir(const struct site *site, struct err *err);
/* A name for a draft in the folder of the site, noted in its log. */
int site_draft_name(const struct site *site, char name[FS_TEMP_NAME_SIZE], struct err *err);
/* Remove what was made under that name; what cannot be removed now is tried again with its log. */
void site_drop_draft(const struct site *site, const char *name);
/* What happened to the names in the folder is on disk. */
int site_sync(const struct site *site, struct err *err);

/* Can nobody but root and ourselves give what we make there another name? Where they cannot, a path
 * leads to the same thing again: for paths that are passed to a program or library. */
bool site_is_guarded(const struct site *site);
/* Is it in the folder where `base` is, or below that? False when it is missing. */
int site_is_below(const struct site *site, const struct site *base, bool *ret, struct err *err);

#endif
