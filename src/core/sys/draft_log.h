/*
 * draft_log - the names of a run's drafts, written to disk before the drafts are made.
 *
 * A killed process leaves its drafts (core/sys/draft.h) behind. Its successor removes them when it
 * opens the log: those names in those very folders, and no other file with such a name. A folder is
 * removed with its content only if it is the very one that was made: its inode number is added to
 * the log once it exists.
 *
 * The caller holds a lock, so an existing log belongs to a process that has ended.
 *
 *     draft_log_open -> { draft_log_add [-> draft_log_add_folder] }... -> draft_log_close
 *
 * The file has a NUL-terminated text for each draft: inode of the folder, name, inode of the draft
 * if it is a folder, path of the folder. It is not synced: after a power failure the last drafts
 * may be missing from it.
 *
 * Threads: any.
 */
#ifndef CORE_SYS_DRAFT_LOG_H
#define CORE_SYS_DRAFT_LOG_H

struct draft_log;
struct err;
struct site;

/* Removes the drafts of an earlier process. The file is created with the first draft. */
struct draft_log *draft_log_open(const char *path);
/* A draft called `name` will be made in the folder of the site. */
int draft_log_add(struct draft_log *log, const struct site *site, const char *name,
                  struct err *err);
/* The folder found at the site is a draft. */
int draft_log_add_folder(struct draft_log *log, const struct site *site, struct err *err);
/* Removing a draft failed: try again when the log is closed. */
void draft_log_keep(struct draft_log *log);
/* Removes the file if every draft is gone. NULL is fine. */
void draft_log_close(struct draft_log *log);

#endif
