/*
 * source - reads the bytes of a `source`.
 *
 *     /srv/x, file:///srv/x        a file of this machine
 *     x/y, salt://x/y, zester://   a file of the state tree
 *     http://, https://            fetched; requires a hash, and is cached under it
 *
 * A hash (states/state/source_hash.h) is always checked.
 *
 * Memory: the arena, or the tree. Threads: any.
 */
#ifndef STATES_RUN_SOURCE_H
#define STATES_RUN_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct err;
struct source_content;
struct source_trust;
struct state_host;
struct value_list;

/* Limits in memory, and streamed to a file. */
#define SOURCE_SIZE_MAX   ((size_t)1 << 30)
#define SOURCE_FETCH_MAX  ((uint64_t)256 << 30)
#define SOURCE_TIMEOUT    (600 * INT64_C(1000000000))
#define SOURCE_LIST_MAX   100000
#define SOURCE_LIST_DEPTH 64

/* Fails with ERR_NOT_FOUND. */
int source_read(struct arena *arena, const struct state_host *host, const char *source,
                const struct source_trust *trust, struct str *ret_bytes, struct err *err);
/* The same for any size: content above SOURCE_HELD_MAX stays in its file. A dry run keeps no files,
 * so it reads downloads into memory. */
int source_get(struct arena *arena, const struct state_host *host, const char *source,
               const struct source_trust *trust, struct source_content *ret, struct err *err);
/* The local path of a source, existing or not; NULL when it is not a local file. */
int source_locate(struct arena *arena, const struct state_host *host, const char *source,
                  const char **ret_path, struct err *err);
/* The files below a folder, as sorted relative paths. */
int source_list(struct arena *arena, const struct state_host *host, const char *source,
                struct value_list **ret_list, struct err *err);

#endif
