/*
 * desired file - the desired state of a file: content, permissions, owner.
 *
 * A check is one open, one fstat and, when the sizes agree, one read: the cost of each unchanged
 * file. Check and apply each look for themselves, since apply may be forced without a check.
 *
 * Memory: borrowed for the call. Threads: any.
 */
#ifndef STATES_MODULES_FILE_DESIRED_FILE_H
#define STATES_MODULES_FILE_DESIRED_FILE_H

#include <stdbool.h>

#include "core/base/str.h"
#include "states/modules/file/attrs.h"

struct err;
struct state_run;
struct value;

/* A larger file is compared, but not shown as a diff. */
#define DESIRED_FILE_SHOWN_MAX ((size_t)64 << 20)

struct source_content;
struct desired_file {
    const char *path;
    bool has_content; /* otherwise only attributes are managed, and a new file is empty */
    struct str content;
    const struct source_content *large; /* the content is in this file instead; NULL */
    struct attrs attrs;
    bool makedirs;
    bool own_folder;                   /* the caller creates the parent folder: do not check it */
    const struct change_attr *folders; /* attributes of new folders; NULL: see parent_attr */
    bool keep_content;                 /* keep the content of an existing file */
    bool keep_absence;                 /* do not create it */
    bool replace_link;                 /* replace a link by a file; otherwise follow it */
    bool hide;                         /* no diff of the content */
    const struct value *backup;        /* see backup.h; NULL: none */
    const struct fs_info *seen;        /* the file that the content was computed from; NULL: none */
};

enum desired_file_done {
    DESIRED_FILE_NOTHING,
    DESIRED_FILE_CREATED,
    DESIRED_FILE_REPLACED,
    DESIRED_FILE_ATTRIBUTES,
};

/* Report what differs. */
int desired_file_check(struct state_run *run, const struct desired_file *wanted, struct err *err);
/* Would the content be written? For callers that check it first. */
int desired_file_writes(const struct desired_file *wanted, bool *ret_writes, struct err *err);
/* Apply it. */
int desired_file_apply(struct state_run *run, const struct desired_file *wanted,
                       enum desired_file_done *ret_done, struct err *err);
/* Report what was done, as a message and details. */
int desired_file_report(struct state_run *run, const struct desired_file *wanted,
                        enum desired_file_done done, struct err *err);
/* Open the file of a large content. */
int desired_file_open(const struct source_content *large, int *ret_fd, struct err *err);

#endif
