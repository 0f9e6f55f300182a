/*
 * wanted - a file as a state wants it: content, permissions, owner.
 *
 * Looking is one open, one fstat and, when the sizes agree, one read: what a
 * thousand files that are in order cost. Both check and apply look for
 * themselves, since apply may be forced without a check.
 *
 * Memory: borrowed for the call. Threads: any.
 */
#ifndef MODULES_FILE_WANTED_H
#define MODULES_FILE_WANTED_H

#include <stdbool.h>

#include "base/str.h"
#include "modules/file/attrs.h"

struct err;
struct state_run;
struct value;

/* A larger file is compared, but not shown. */
#define WANTED_SHOWN_MAX ((size_t)64 << 20)

struct wanted {
    const char *path;
    bool has_content; /* else only the attributes matter, and a new file is empty */
    struct str content;
    struct attrs attrs;
    bool makedirs;
    bool own_folder;                   /* who asks makes its folder: nothing is said of it */
    const struct change_attr *folders; /* of folders that are made; NULL: 0755 */
    bool keep_content;                 /* what is there already is content enough */
    bool keep_absence;                 /* do not create it */
    bool replace_link;                 /* a link becomes a file; else it is followed */
    bool hide;                         /* no diff of the content */
    const struct value *backup;        /* see backup.h; NULL: none */
    const struct fs_info *seen;        /* what the content was made from; NULL: nothing there */
};

enum wanted_done {
    WANTED_NOTHING,
    WANTED_CREATED,
    WANTED_REPLACED,
    WANTED_ATTRIBUTES,
};

/* Say what differs. */
int wanted_check(struct state_run *run, const struct wanted *wanted, struct err *err);
/* Would the content be written? For those who want to look at it first. */
int wanted_writes(const struct wanted *wanted, bool *ret_writes, struct err *err);
/* Make it so. */
int wanted_apply(struct state_run *run, const struct wanted *wanted, enum wanted_done *ret_done,
                 struct err *err);
/* Say what was done, in words and details. */
int wanted_report(struct state_run *run, const struct wanted *wanted, enum wanted_done done,
                  struct err *err);

#endif
