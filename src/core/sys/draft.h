/*
 * draft - a file in the making, beside the one it will replace.
 *
 * Write to `fd` (or use draft_add, draft_copy), then commit: owner, extended
 * attributes and mode are set, file and folder are synced, and one rename makes
 * it visible. Until then nobody sees a change, and a draft that is dropped, or
 * whose process is killed, leaves the old file unchanged. A killed process leaves
 * the draft behind, a file ".zester-<16 digits>" in the same folder; the log of the
 * site (core/sys/draft_log.h) is what the next one finds it by.
 * A file that is a mount point (/etc/hosts in a container) cannot be replaced:
 * its content is rewritten instead, and it keeps its attributes.
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
    struct site own;         /* of draft_open */
    char temp[FS_TEMP_NAME_SIZE];
    struct fs_replace_options options;
};

/* No options: keep what is there, and sync. On failure there is nothing to undo. */
int draft_open(struct draft *draft, const char *path, const struct fs_replace_options *options,
               struct err *err);
/* The same at a site that was walked, which it borrows; `follow` means nothing then. */
int draft_open_at(struct draft *draft, const struct site *site,
                  const struct fs_replace_options *options, struct err *err);
/* Large content can be canceled (cancel_heed), here, in draft_copy and in draft_commit; a little is
 * always written. */
int draft_add(struct draft *draft, struct str content, struct err *err);
/* The rest of an open file, shared with it where the file system can. */
int draft_copy(struct draft *draft, int from, struct err *err);
int draft_commit(struct draft *draft, struct err *err);
/* Drops what was not committed. */
void draft_done(struct draft *draft);

/* Removes drafts in a folder of our own data that no process is writing now. A name that is
 * not a folder is fine. */
void draft_sweep(const char *folder);

/* A folder in the making, which only we can enter, at a site that has the name of a draft: the
 * caller renames it. Its log knows it before there is anything in it. */
int draft_make_folder(struct site *site, struct err *err);
/* Drops it with everything in it; renamed is fine. */
void draft_drop_folder(struct site *site);

#endif
