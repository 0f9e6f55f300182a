/*
 * editor - a file whose text a state edits: read, compute, compare, write.
 *
 * A module says how the text is to be: its `plan` reads nothing and writes nothing,
 * it only computes, and finds the words for what it would do. The rest is the same
 * for all of them. Reading and writing belong together: while apply edits a file no
 * other state of this process edits it.
 *
 *     editor_check(run, &editor, args, err);
 *     editor_apply(run, &editor, args, err);
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef MODULES_FILE_EDITOR_H
#define MODULES_FILE_EDITOR_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "sys/fs.h"

struct change_attr;
struct err;
struct state_run;
struct value;

/* A larger file is an error. */
#define EDITOR_FILE_MAX ((size_t)64 << 20)

struct editor_file {
    const char *path;
    bool exists;
    struct str text;     /* empty when it is not there; never a NULL view */
    struct fs_info seen; /* what was read: nothing else is replaced by what is made of it */
};

/* What a plan has found. Texts are in the arena. */
struct editor_plan {
    struct buf text;           /* the text as it should be */
    bool create;               /* a file that is not there is made, even an empty one */
    const char *pending;       /* what check says when the text differs */
    const char *done;          /* what apply says then */
    const char *remark;        /* what both say when it does not; NULL: nothing */
    const char *detail, *word; /* a detail beside the path, and what it is */
};

struct editor {
    const char *path;
    int (*plan)(struct state_run *run, const void *args, const struct editor_file *file,
                struct editor_plan *plan, struct err *err);
    const struct change_attr *fresh;  /* of a file that is made; NULL: 0644 */
    const struct change_attr *folder; /* of folders that are made; NULL: 0755 */
    bool makedirs;
    bool hide;                  /* no diff */
    const struct value *backup; /* see backup.h */
};

int editor_check(struct state_run *run, const struct editor *editor, const void *args,
                 struct err *err);
int editor_apply(struct state_run *run, const struct editor *editor, const void *args,
                 struct err *err);

/* A state that does nothing else: its functions, from one that gives the editor of its arguments.
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
