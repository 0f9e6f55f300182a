/*
 * fleet_selection - which of the peels that a target means a command is for: lists in files, and
 * exclusions.
 *
 *     zester 'web*' state.apply nginx --target-file this-week --exclude web-03 --exclude-file
 * broken
 *
 * A file has the name of a peel or a target on each line; '#' begins a comment. A peel remains when
 * the target and all target files mean it, and no exclusion does.
 *
 *     fleet_selection_read -> fleet_select
 *
 * Memory: the arena. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_SELECTION_H
#define COMMANDS_CLI_FLEET_SELECTION_H

#include <stdbool.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/data/params.h"

struct arena;
struct err;
struct fleet;

/* Limits on a file and its lines. */
#define SELECTION_FILE_MAX  ((size_t)16 << 20)
#define SELECTION_LINES_MAX 200000

/* Options of the command line. */
struct fleet_selection_args {
    struct param_strs target_files, exclude, exclude_files;
};

/* clang-format off */
#define FLEET_SELECTION_OPTIONS(type, field)                                                                                             \
    PARAM("exclude", STRS, type, field.exclude, "exclude peels that match this target; may be repeated", .kind_text = "TARGET"), \
    PARAM("exclude-file", STRS, type, field.exclude_files, "exclude peels listed in this file (-: standard input); may be repeated", .kind_text = "FILE"), \
    PARAM("target-file", STRS, type, field.target_files, "only peels listed in this file (-: standard input); may be repeated", .kind_text = "FILE")
/* clang-format on */

/* One file, or one option. */
struct selection_list {
    const char *origin; /* for messages */
    bool excludes;
    struct map names; /* of peels, as on the wire */
    const char *expr; /* the other lines as one expression; "": none */
};

struct fleet_selection {
    VEC(struct selection_list) lists;
};

/* Read the files and check every expression. Fails with ERR_INVALID, with the file and the line of
 * a mistake. */
int fleet_selection_read(struct arena *arena, const struct fleet_selection_args *args,
                         struct fleet_selection *ret, struct err *err);

/* Keep those of `peels` that are selected. Warns about names that are none of them. */
int fleet_select(struct fleet *fleet, const struct fleet_selection *selection,
                 struct param_strs *peels, struct err *err);

/* A target and its selection as they were written, for records: "web* --exclude web-03". */
const char *fleet_selection_text(struct arena *arena, const char *target,
                                 const struct fleet_selection_args *args);

#endif
