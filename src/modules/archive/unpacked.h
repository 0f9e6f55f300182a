/*
 * unpacked - a folder into which an archive was extracted, and the file in it that
 * remembers so.
 *
 * The file holds what the archive is known by, and every path that came from it, one
 * a line. A new folder is made beside its place and moved there when all of it is on
 * disk; into one that is there each path goes by itself, so that all come back.
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
    const char *mark; /* what the archive is known by */
    struct str bytes; /* of the archive; a NULL view: not at hand, when only looking */
    struct unpack_options options;
    bool clean, makedirs, one_top;
};

int unpacked_check(struct state_run *run, const struct unpacked_wish *wish, struct err *err);
int unpacked_apply(struct state_run *run, const struct unpacked_wish *wish, struct err *err);
int unpacked_revert(struct state_run *run, const char *folder, struct err *err);

#endif
