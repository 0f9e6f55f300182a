/*
 * change - the only way in which a module touches the file system.
 *
 * Each call first puts the before-image of the path into the undo journal, then
 * acts, atomically. So a run that is killed at any point leaves files old or new,
 * never torn, and `state.revert` in a later process finds what was there before.
 * The first image of a path in a state wins; later calls on it note only what
 * they leave. Reverting goes through the states backwards, so the oldest wins.
 *
 * In a dry run, and in check, these calls are an error: check never changes.
 *
 * Paths are absolute. Parents are not made unless a call says so. Every path is walked once, as
 * core/sys/site.h says, and all that a call does it does in the folder where the walk ended: what
 * an unprivileged owner of a folder could lead elsewhere fails with ERR_UNSAFE.
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

/* What a path should be like; CHANGE_KEEP leaves it as it is (or takes the default for new ones).
 */
#define CHANGE_KEEP_MODE ((mode_t)-1)
/* For change_copy: the permissions of what is copied, also in place of something that is there. */
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

/* Where a chain of links ends, there or not: what writing `path` makes. */
int change_resolve(struct state_run *run, const char **path, struct err *err);

/* Give `path` this content in one step. Owner, mode and extended attributes of what is replaced
 * stay unless `attr` says otherwise; a new file is 0644, or as `run->umask` says. A link is
 * followed to what it points to.
 */
int change_write(struct state_run *run, const char *path, struct str content,
                 const struct change_attr *attr, struct err *err);
/* The same for what was made from the content of a file that was `seen` there (FS_NONE: that was
 * not there): fails when something else is there by now, or it was changed. */
int change_rewrite(struct state_run *run, const char *path, const struct fs_info *seen,
                   struct str content, const struct change_attr *attr, struct err *err);
/* The same in the folder that a walk of this state has led to. Its last part is looked at again. */
int change_rewrite_at(struct state_run *run, struct site *site, const struct fs_info *seen,
                      struct str content, const struct change_attr *attr, struct err *err);
/* The same with the content of an open file from its beginning, whatever its size. */
int change_refill_at(struct state_run *run, struct site *site, const struct fs_info *seen, int from,
                     const struct change_attr *attr, struct err *err);
/* The same with the content of another file, copied without reading it into memory. A new one has
 * the permissions of that file. */
int change_copy(struct state_run *run, const char *from, const char *path,
                const struct change_attr *attr, struct err *err);
int change_mkdir(struct state_run *run, const char *path, const struct change_attr *attr,
                 struct err *err);
/* Every missing parent of `path`, 0755. Folders without an owner in `attr` that are made in one of
 * an unprivileged user belong to that user. */
int change_make_parents(struct state_run *run, const char *path, struct err *err);
int change_symlink(struct state_run *run, const char *target, const char *path, struct err *err);
/* Another name of the file `target`; nothing may be at `path`. */
int change_link(struct state_run *run, const char *target, const char *path, struct err *err);
/* A fifo or device as `like` says, mode 0600; nothing may be at `path`. */
int change_mknod(struct state_run *run, const char *path, const struct fs_info *like,
                 struct err *err);
int change_rename(struct state_run *run, const char *from, const char *to, struct err *err);
/* A file, link, or folder with all that is in it; all of it comes back with a revert. */
int change_remove(struct state_run *run, const char *path, struct err *err);
/* A mode is that of what a link points to; without one, the owner is that of the link itself. */
int change_attr(struct state_run *run, const char *path, const struct change_attr *attr,
                struct err *err);
/* The same for what was found at a site, a link itself. */
int change_attr_at(struct state_run *run, struct site *site, const struct change_attr *attr,
                   struct err *err);
/* Times in nanoseconds since the epoch; the file is created when it is not there. */
int change_touch(struct state_run *run, const char *path, int64_t atime, int64_t mtime,
                 struct err *err);
/* A path that something else is about to change (a command, a tool): keep its image. */
int change_save(struct state_run *run, const char *path, struct err *err);

/* A folder of our own at a site that has the name of a draft (core/sys/draft.h), to be renamed or
 * dropped by the caller. What a killed run leaves of it is removed by the next one. */
int change_make_draft(struct state_run *run, struct site *site, struct err *err);

/* --- for the runner ----------------------------------------------------------- */

/* What one state may change and has changed. */
struct change {
    struct undo *undo;        /* NULL: nothing is kept (a revert) */
    struct draft_log *drafts; /* of the run; NULL: none */
    uint32_t number;          /* of the state in the journal */
    struct map paths;         /* those with an image, and how much of it */
    bool acted;               /* one of them was changed, or may have been */
};
/* The state has ended: note what others left at paths of change_save. */
int change_finish(struct state_run *run, struct err *err);

#endif
