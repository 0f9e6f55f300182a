/*
 * unpacked - a folder into which an archive was extracted, and the file in it that records this.
 *
 * The file holds the identity of the archive and every path extracted from it, one per line. A new
 * folder is built beside its destination and renamed once it is on disk; in an existing folder,
 * each path is a change by itself, so a revert restores all of them.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef MODULES_ARCHIVE_UNPACKED_H
#define MODULES_ARCHIVE_UNPACKED_H

#include <stdbool.h>

#include "base/str.h"
#include "modules/archive/unpack.h"

struct err;
struct state_run;

struct unpacked_wish {
    const char *folder, *source;
    const char *mark; /* identity of the archive */
    struct str bytes; /* bytes of the archive; a NULL view: not available in a check */
    struct unpack_options options;
    bool clean, makedirs, one_top;
};

int unpacked_check(struct state_run *run, const struct unpacked_wish *wish, struct err *err);
int unpacked_apply(struct state_run *run, const struct unpacked_wish *wish, struct err *err);
int unpacked_revert(struct state_run *run, const char *folder, struct err *err);

#endif
