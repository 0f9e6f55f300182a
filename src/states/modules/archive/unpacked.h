/*
 * unpacked - a folder into which an archive was extracted, and the list that remembers so.
 *
 * The list is among our own data, not in the folder. It holds what the archive is known by, and
 * every path that came from it, one a line. A new folder is made beside its place and moved there
 * when all of it is on disk; into an existing one each path goes by itself, so that all come back.
 *
 *     unpacked_check -> (not known: unpacked_compare) -> unpacked_apply or unpacked_remember
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_ARCHIVE_UNPACKED_H
#define STATES_MODULES_ARCHIVE_UNPACKED_H

#include <stdbool.h>

#include "core/base/str.h"
#include "states/modules/archive/unpack.h"
#include "states/state/module.h"

struct err;
struct state_run;

struct unpacked_wish {
    const char *folder, *source;
    const char *mark; /* identifies the archive */
    bool at_hand;     /* the archive itself is in `archive` */
    struct source_content archive;
    struct unpack_options options;
    bool clean, cleans_tops, makedirs, one_top;
    bool keeps_others;  /* an existing path of another kind is an error */
    bool top_is_folder; /* with one_top: a file alone is refused, too */
    bool follows_hash;  /* another mark is another archive, also when all of its paths are there */
    bool trusts_list;   /* with the same mark, whether the paths are there does not matter */
};

/* Say what differs, by the list alone; not `ret_known`: the list does not say. */
int unpacked_check(struct state_run *run, const struct unpacked_wish *wish, bool *ret_known,
                   struct err *err);
/* Say what differs from the archive, whose bytes are at hand: others may have extracted it. */
int unpacked_compare(struct state_run *run, const struct unpacked_wish *wish, struct err *err);
/* The paths of the archive below the folder, one a line: by the list, or else by the archive, whose
 * bytes are then at hand. */
int unpacked_paths(struct state_run *run, const struct unpacked_wish *wish, struct str *ret,
                   struct err *err);
/* Write the list of what others have extracted. */
int unpacked_remember(struct state_run *run, const struct unpacked_wish *wish, struct err *err);
int unpacked_apply(struct state_run *run, const struct unpacked_wish *wish, struct err *err);
int unpacked_revert(struct state_run *run, const char *folder, struct err *err);

#endif
