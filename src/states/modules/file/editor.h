/*
 * editor - a file whose text a state edits: read, compute, compare, write.
 *
 * A module computes the new text: its `plan` reads and writes nothing, and words the messages. The
 * rest is shared. Each edit is one read and one write: while apply edits a file, no other state of
 * this process edits it.
 *
 *     editor_check(run, &editor, args, err);
 *     editor_apply(run, &editor, args, err);
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_FILE_EDITOR_H
#define STATES_MODULES_FILE_EDITOR_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/sys/fs.h"

struct change_attr;
struct err;
struct state_run;
struct value;

/* A larger file is an error. */
#define EDITOR_FILE_MAX ((size_t)64 << 20)

struct editor_file {
    const char *path;
    bool exists;
    struct str text;     /* empty if the file is missing; never a NULL view */
    struct fs_info seen; /* the file that was read; no other one is ever replaced */
};

/* The result of a plan. Texts are in the arena. */
struct editor_plan {
    struct buf text;           /* the wanted text */
    bool create;               /* create a missing file, even an empty one */
    const char *pending;       /* message of check when the text differs */
    const char *done;          /* message of apply */
    const char *remark;        /* message of both when it does not differ; NULL: none */
    const char *detail, *word; /* an extra detail, and its value */
};

struct editor {
    const char *path;
    int (*plan)(struct state_run *run, const void *args, const struct editor_file *file,
                struct editor_plan *plan, struct err *err);
    const struct change_attr *fresh;  /* attributes of a new file; NULL: 0644 */
    const struct change_attr *folder; /* attributes of new parent folders; NULL: 0755 */
    bool makedirs;
    bool hide;                  /* no diff */
    const struct value *backup; /* see backup.h */
};

int editor_check(struct state_run *run, const struct editor *editor, const void *args,
                 struct err *err);
int editor_apply(struct state_run *run, const struct editor *editor, const void *args,
                 struct err *err);

/* For edits that take long, as is_stopped; `cancel` is that of the host. */
bool editor_is_stopped(const void *cancel);

/* The functions of a state that only edits, from one that returns the editor for its arguments.
 */
#define EDITOR_STATE(editor_of)                                                                    \
    static int state_check(struct state_run *run, const void *args, struct err *err)               \
    {                                                                                              \
        const struct editor editor = editor_of(args);                                              \
        return editor_check(run, &editor, args, err);                                              \
    }                                                                                              \
    static int state_apply(struct state_run *run, const void *args, struct err *err)               \
    {                                                                                              \
        const struct editor editor = editor_of(args);                                              \
        return editor_apply(run, &editor, args, err);                                              \
    }
#define EDITOR_STATE_FIELDS .check = state_check, .apply = state_apply

#endif
