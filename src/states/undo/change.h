/*
 * change - the only way in which a module touches the file system.
 *
 * Each call first writes the before-image of the path to the undo journal, then acts atomically.
 * So a run that is killed at any point leaves files old or new, never torn, and `state.revert` in
 * a later process finds the old content. The first image of a path in a state wins; later calls
 * record only the new mark. A revert goes through the states backwards, so the oldest image wins.
 *
 * In a dry run, and in check, these calls are an error: check never changes.
 *
 * Paths are absolute. Parents are created only where noted. Every path is walked once
 * (core/sys/site.h), and the call acts only in the folder where the walk ended. A path that an
 * unprivileged folder owner could redirect fails with ERR_UNSAFE.
 */
#ifndef STATES_UNDO_CHANGE_H
#define STATES_UNDO_CHANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/map.h"
#include "core/base/str.h"

struct arena;
struct draft_log;
struct err;
struct fs_info;
struct site;
struct state_run;
struct undo;

/* Attributes of a path. CHANGE_KEEP leaves an attribute as it is, or takes the default for a new
 * file. */
#define CHANGE_KEEP_MODE ((mode_t)-1)
/* For change_copy: use the permissions of the source, even when the target exists. */
#define CHANGE_SOURCE_MODE ((mode_t)-2)
#define CHANGE_KEEP_ID     ((uid_t)-1)

struct change_attr {
    mode_t mode; /* permission bits with setuid, setgid, sticky */
    uid_t uid;
    gid_t gid;
};
#define CHANGE_KEEP                                                                                \
    {                                                                                              \
        CHANGE_KEEP_MODE, CHANGE_KEEP_ID, CHANGE_KEEP_ID                                           \
    }

/* The end of a chain of links, existing or not: the file that a write to `path` creates. */
int change_resolve(struct state_run *run, const char **path, struct err *err);

/* Replace the content of `path` atomically. Owner, mode and extended attributes are kept unless
 * `attr` sets them; a new file has mode 0644, or follows `run->umask`. A link is followed. */
int change_write(struct state_run *run, const char *path, struct str content,
                 const struct change_attr *attr, struct err *err);
/* The same for content computed from the file `seen` before (FS_NONE: no file): fails when the file
 * was replaced or changed since. */
int change_rewrite(struct state_run *run, const char *path, const struct fs_info *seen,
                   struct str content, const struct change_attr *attr, struct err *err);
/* The same in a folder that this state has walked to. The last part is inspected again. */
int change_rewrite_at(struct state_run *run, struct site *site, const struct fs_info *seen,
                      struct str content, const struct change_attr *attr, struct err *err);
/* The same with the content of an open file of any size, from its start. */
int change_refill_at(struct state_run *run, struct site *site, const struct fs_info *seen, int from,
                     const struct change_attr *attr, struct err *err);
/* The same with the content of another file, without reading it into memory. A new file gets the
 * source's permissions. */
int change_copy(struct state_run *run, const char *from, const char *path,
                const struct change_attr *attr, struct err *err);
int change_mkdir(struct state_run *run, const char *path, const struct change_attr *attr,
                 struct err *err);
/* Create every missing parent of `path` with mode 0755. Without an owner in `attr`, folders created
 * in an unprivileged user's folder belong to that user. */
int change_make_parents(struct state_run *run, const char *path, struct err *err);
int change_symlink(struct state_run *run, const char *target, const char *path, struct err *err);
/* Create a hard link to `target`; `path` must not exist. */
int change_link(struct state_run *run, const char *target, const char *path, struct err *err);
/* Create a fifo or device like `like`, mode 0600; `path` must not exist. */
int change_mknod(struct state_run *run, const char *path, const struct fs_info *like,
                 struct err *err);
int change_rename(struct state_run *run, const char *from, const char *to, struct err *err);
/* Remove a file, a link, or a folder with its contents; a revert restores all of it. */
int change_remove(struct state_run *run, const char *path, struct err *err);
/* Set mode and owner. With a mode, a link is followed; without one, the owner is set on the link
 * itself. */
int change_attr(struct state_run *run, const char *path, const struct change_attr *attr,
                struct err *err);
/* The same for a site; a link is not followed. */
int change_attr_at(struct state_run *run, struct site *site, const struct change_attr *attr,
                   struct err *err);
/* Set times in nanoseconds since the epoch; a missing file is created. */
int change_touch(struct state_run *run, const char *path, int64_t atime, int64_t mtime,
                 struct err *err);
/* Save the image of a path that a command or tool is about to change. */
int change_save(struct state_run *run, const char *path, struct err *err);

/* Create a draft folder (core/sys/draft.h) at a site, for the caller to rename or drop. The next
 * run removes what a killed run left of it. */
int change_make_draft(struct state_run *run, struct site *site, struct err *err);

/* --- for the runner ----------------------------------------------------------- */

/* The changes of one state. */
struct change {
    struct undo *undo;        /* NULL: keep no images (a revert) */
    struct draft_log *drafts; /* the run's secrets, or NULL */
    uint32_t number;          /* the state's number in the journal */
    struct map paths;         /* paths with an image, and how much of it is kept */
    bool acted;               /* a path was changed, or may have been */
};
/* The state has ended: record the marks of change_save paths. */
int change_finish(struct state_run *run, struct err *err);

#endif
