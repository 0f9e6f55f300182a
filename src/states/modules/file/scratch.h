/*
 * scratch - a temporary file: a script to run, a text that a command checks.
 *
 *     scratch_make -> use scratch.path -> scratch_done (always)
 *
 * It is readable by its owner only. Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_FILE_SCRATCH_H
#define STATES_MODULES_FILE_SCRATCH_H

#include <sys/types.h>

#include "core/base/str.h"

struct err;
struct source_content;
struct state_run;

struct scratch {
    char *path; /* NULL: none */
};

struct scratch_options {
    const char *folder; /* NULL: TMPDIR, or /tmp */
    const char *suffix; /* suffix of the random name; NULL: none */
    mode_t mode;
    uid_t uid; /* (uid_t)-1: our own */
    gid_t gid;
};

int scratch_make(struct state_run *run, const struct scratch_options *options, struct str content,
                 struct scratch *ret, struct err *err);
/* The same with the content of a source of any size. */
int scratch_copy(struct state_run *run, const struct scratch_options *options,
                 const struct source_content *content, struct scratch *ret, struct err *err);
void scratch_done(struct scratch *scratch);
/* The same by path, for callers that have nothing else; and for files that a program left
 * beside it. */
void scratch_remove(const char *path);

#endif
