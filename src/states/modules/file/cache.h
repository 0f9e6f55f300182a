/*
 * cache - copies of sources that file.cached and cp.get_url keep on this machine, under the hash of
 * their address.
 *
 * They stay until file.not_cached, or a revert, removes them.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_FILE_CACHE_H
#define STATES_MODULES_FILE_CACHE_H

struct err;
struct source_content;
struct state_run;

/* Where the copy of a source is, or would be. */
const char *cache_path(struct state_run *run, const char *source);
/* Keep this copy of a source, on disk when it returns; a dry run keeps nothing. Nothing reverts
 * that: it is for functions, and states use states/undo/change.h. */
int cache_keep(struct state_run *run, const char *source, const struct source_content *content,
               struct err *err);

#endif
