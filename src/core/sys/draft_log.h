/*
 * draft_log - the names of drafts that a run makes, on disk before it makes them.
 *
 * A process that is killed leaves its drafts (core/sys/draft.h) where they are. The next one that
 * opens the log removes them: those names in those very folders, and no others, whatever else is
 * called like a draft. A folder with everything in it goes only when it is the one that was made:
 * its number is added to the log once there is one.
 *
 * The caller holds a lock, so that a log that is there is the one of a process that ended.
 *
 *     draft_log_open -> { draft_log_add [-> draft_log_add_folder] }... -> draft_log_close
 *
 * The file has a text for each draft, with a NUL at its end: number of the folder, name, number of
 * the draft when that is a folder, path of the folder. It is not synced: a machine that loses power
 * may forget the last drafts.
 *
 * Threads: any.
 */
#ifndef CORE_SYS_DRAFT_LOG_H
#define CORE_SYS_DRAFT_LOG_H

struct draft_log;
struct err;
struct site;

/* Removes what an earlier process left. The file is created with the first draft. */
struct draft_log *draft_log_open(const char *path);
/* A draft called `name` will be made in the folder of the site. */
int draft_log_add(struct draft_log *log, const struct site *site, const char *name,
                  struct err *err);
/* The folder that was found at the site is a draft. */
int draft_log_add_folder(struct draft_log *log, const struct site *site, struct err *err);
/* A draft could not be removed: it is tried again when the log is closed. */
void draft_log_keep(struct draft_log *log);
/* Every draft is gone, and so is the file, unless one could not be removed. NULL is fine. */
void draft_log_close(struct draft_log *log);

#endif
