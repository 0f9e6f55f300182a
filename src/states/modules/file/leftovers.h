/*
 * leftovers - unwanted paths in a folder.
 *
 * Everything below the folder that is not kept. A folder in which nothing is kept is one leftover,
 * else its entries are listed one by one. What other states of the run manage is always kept.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef STATES_MODULES_FILE_LEFTOVERS_H
#define STATES_MODULES_FILE_LEFTOVERS_H

#include <stdbool.h>

#include "core/base/map.h"
#include "core/base/vec.h"

struct err;
struct state_run;

struct leftovers {
    VEC(const char *) list; /* whole paths */
    struct map known;       /* the same, for leftovers_has */
};

/* Should this path below the folder be kept? */
typedef int leftovers_keep_fn(void *self, const char *relative, bool *ret_kept, struct err *err);

/* `folder` is normalised; a missing one has no leftovers. */
int leftovers_find(struct state_run *run, const char *folder, leftovers_keep_fn *keep, void *self,
                   struct leftovers *ret, struct err *err);
/* Is this path one of them? */
bool leftovers_has(const struct leftovers *leftovers, const char *path);

#endif
