/*
 * filewatch - reports when files that match a pattern are made, changed, touched or removed.
 *
 * One inotify instance serves all (a user may have few of them): each folder below the roots of a
 * pattern is watched once, for all watches. New folders are added with their content; a root below
 * the base folder of the patterns may come and go, any other must exist. The first change of a
 * burst starts a window of FILEWATCH_WINDOW; at its end the callback runs once, with the path of
 * that change. When the kernel drops changes, everything is scanned again and counts as changed. A
 * large tree is scanned in slices, one in each turn of the loop: changes are seen once their folder
 * was reached.
 *
 *     filewatch_hub_init -> filewatch_start -> fn... -> filewatch_stop -> filewatch_hub_done
 *
 * Links are not followed. Memory: watches live in their owner's struct; the hub owns
 * the rest. Threads: the loop's.
 */
#ifndef CORE_SYS_FILEWATCH_H
#define CORE_SYS_FILEWATCH_H

#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/base/pathglob.h"
#include "core/sys/loop.h"
#include "core/sys/rights.h"

struct err;
struct filewatch;
struct filewatch_folder;

#define FILEWATCH_WINDOW      (500 * INT64_C(1000000))
#define FILEWATCH_FOLDERS_MAX 100000
/* Names to scan in one turn of the loop. */
#define FILEWATCH_SLICE 2048

struct filewatch_hub {
    struct loop *loop;
    int fd; /* -1: no watch */
    struct watch watch;
    struct map folders; /* by watch descriptor */
    VEC(struct filewatch *) watches;
};

typedef void filewatch_fn(struct filewatch *watch, const char *path);
/* Reports a folder whose watch failed after the start. */
typedef void filewatch_fail_fn(struct filewatch *watch, const struct err *err);

/* A folder still to be scanned. */
struct filewatch_task {
    char *path;
    bool is_new; /* it was just made, and the files in it are changes */
};

struct filewatch {
    struct filewatch_hub *hub; /* NULL: off */
    filewatch_fn *fn;
    filewatch_fail_fn *fail;
    struct arena arena;
    struct pathglob_set globs;
    const char *folder; /* the base folder of the patterns */
    struct rights rights;
    struct timer timer;
    const char *path; /* the path that began the window */
    VEC(struct filewatch_task) todo;
    struct timer more; /* the next slice of the scan */
};

/* The watched files: patterns below `folder`, as far as these rights reach; NULL: our own. */
struct filewatch_wish {
    const char *folder;
    const char *const *patterns;
    size_t count;
    const struct rights *rights;
    filewatch_fn *fn;        /* called after changes */
    filewatch_fail_fn *fail; /* or NULL */
};

void filewatch_hub_init(struct filewatch_hub *hub, struct loop *loop);
void filewatch_hub_done(struct filewatch_hub *hub);

int filewatch_start(struct filewatch *watch, struct filewatch_hub *hub,
                    const struct filewatch_wish *wish, struct err *err);
/* Not started is fine. */
void filewatch_stop(struct filewatch *watch);

#endif
