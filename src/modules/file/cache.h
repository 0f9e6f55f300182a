/*
 * cache - copies of sources that file.cached keeps on this machine, under the hash of their
 * address.
 *
 * They stay until file.not_cached, or a revert, removes them.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef MODULES_FILE_CACHE_H
#define MODULES_FILE_CACHE_H

struct state_run;

/* Where the copy of a source is, or would be. */
const char *cache_path(struct state_run *run, const char *source);

#endif
