/*
 * draft - a new file next to the one that it will replace.
 *
 * Write to `fd` (or use draft_add, draft_copy), then commit: owner, extended attributes and mode
 * are set, file and folder are synced, and one rename makes it visible. Until then no change is
 * visible, and a dropped draft, or a killed process, leaves the old file unchanged. A killed
 * process leaves the draft behind, a file ".zester-<16 digits>" in the same folder; its successor
 * finds it by the log of the site (core/sys/draft_log.h). A file that is a mount point (/etc/hosts
 * in a container) cannot be replaced: its content is rewritten instead, and it keeps its
 * attributes.
 *
 *     draft_open -> write... -> draft_commit -> draft_done (always)
 *
 * Memory: draft_done frees. Threads: one at a time.
 */
#ifndef CORE_SYS_DRAFT_H
#define CORE_SYS_DRAFT_H

#include "core/sys/fs.h"
#include "core/sys/site.h"

struct draft {
    int fd;                  /* open for writing */
    const struct site *site; /* where it is and will be */
    struct site own;         /* site opened by draft_open */
    char temp[FS_TEMP_NAME_SIZE];
    struct fs_replace_options options;
};

/* No options: keep the attributes of the old file, and sync. On failure there is nothing to undo.
 */
int draft_open(struct draft *draft, const char *path, const struct fs_replace_options *options,
               struct err *err);
/* The same at a walked site, which it borrows; `follow` is ignored. */
int draft_open_at(struct draft *draft, const struct site *site,
                  const struct fs_replace_options *options, struct err *err);
/* Large content can be canceled (cancel_heed), here, in draft_copy and in draft_commit; small
 * content is always written. */
int draft_add(struct draft *draft, struct str content, struct err *err);
/* The rest of an open file, shared with it where the file system can. */
int draft_copy(struct draft *draft, int from, struct err *err);
int draft_commit(struct draft *draft, struct err *err);
/* Drops an uncommitted draft. */
void draft_done(struct draft *draft);

/* Removes abandoned drafts in a folder of our own data. A name that is not a folder is fine. */
void draft_sweep(const char *folder);

/* A new folder that only we can enter, at a site with the name of a draft; the caller renames it.
 * It is logged before anything is in it. */
int draft_make_folder(struct site *site, struct err *err);
/* Removes it with everything in it; a renamed one is fine. */
void draft_drop_folder(struct site *site);

#endif
