/*
 * tree_sums - the sums of files that were read before, so that only what changed is read again.
 *
 * A file is the same as long as device, inode, size and both times (modification and change) are.
 * Times are not exact: what was changed again right after it was read may have the same ones. So a
 * file that had been changed less than TREE_SUMS_SETTLED before it was read is not remembered.
 *
 *     { tree_sums_begin -> { tree_sums_find | tree_sums_keep }... -> tree_sums_end }...
 *                                                                  -> tree_sums_done
 *
 * Memory: its own, for the files of the last two readings. Threads: one at a time.
 */
#ifndef FLEET_MASTER_FILES_TREE_SUMS_H
#define FLEET_MASTER_FILES_TREE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/sha256.h"

struct fs_info;

/* Longer than the times of any usual file system are coarse. */
#define TREE_SUMS_SETTLED (INT64_C(2) * 1000000000)

/* What is known about the content of a file. */
struct tree_sum {
    char sha256[SHA256_HEX_SIZE];
    size_t size;
    bool is_large;
};

struct tree_sums {
    struct map known, next; /* struct remembered by path; `next` is of the reading under way */
};
#define TREE_SUMS_INIT                                                                             \
    {                                                                                              \
        .known = MAP_INIT, .next = MAP_INIT                                                        \
    }

void tree_sums_done(struct tree_sums *sums);
/* Everything will be read again. */
void tree_sums_forget(struct tree_sums *sums);

void tree_sums_begin(struct tree_sums *sums);
/* False: it must be read. */
bool tree_sums_find(struct tree_sums *sums, const char *path, const struct fs_info *now,
                    struct tree_sum *ret);
/* It was read from `began` on (wall time) and was `info` before and after. */
void tree_sums_keep(struct tree_sums *sums, const char *path, const struct fs_info *info,
                    int64_t began, const struct tree_sum *sum);
/* Files that this reading did not see are forgotten. */
void tree_sums_end(struct tree_sums *sums);

#endif
