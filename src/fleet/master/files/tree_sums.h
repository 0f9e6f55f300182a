/*
 * tree_sums - remembers the sums of files, so that only changed files are read again.
 *
 * A file is unchanged while device, inode, size, mtime and ctime are equal. File times are coarse:
 * a change right after the reading may not show. So a file changed less than TREE_SUMS_SETTLED
 * before it was read is not remembered.
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

/* Longer than the time resolution of any common file system. */
#define TREE_SUMS_SETTLED (INT64_C(2) * 1000000000)

/* The remembered content of a file. */
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
/* False: not known; read it. */
bool tree_sums_find(struct tree_sums *sums, const char *path, const struct fs_info *now,
                    struct tree_sum *ret);
/* It was read from `began` on (wall time) and was `info` before and after. */
void tree_sums_keep(struct tree_sums *sums, const char *path, const struct fs_info *info,
                    int64_t began, const struct tree_sum *sum);
/* Forget files that this reading did not see. */
void tree_sums_end(struct tree_sums *sums);

#endif
