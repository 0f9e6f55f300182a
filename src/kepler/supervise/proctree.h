/*
 * proctree - a process and everything that it starts, until nothing of it is left.
 *
 * Where control groups can be made, a tree is one: nothing leaves it, a signal
 * reaches all of it, and the kernel reports when it is empty. Elsewhere the main
 * process leads a session and adopts the orphans below it; what is left when it
 * ends becomes a child of ours (we are a subreaper), and is known by its mark
 * (kepler/supervise/treemark.h); one that has none belongs to the tree that ended last.
 * Nobody else may start children in the same process.
 *
 * Strays that end as children of ours are reaped, here and as the first process of
 * a container.
 *
 *     proctree_home_init -> proctree_start -> on_exited -> on_empty -> proctree_done
 *
 * Both callbacks come from the loop, each once, in this order. In on_empty the tree
 * is ready for the next start, and must not be freed. A tree that rests holds no
 * descriptor and has no group. Nothing here blocks.
 *
 * Memory: trees live in their owner's struct. Threads: the loop's.
 */
#ifndef KEPLER_SUPERVISE_PROCTREE_H
#define KEPLER_SUPERVISE_PROCTREE_H

#include <stdbool.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/sys/cgroup.h"
#include "core/sys/loop.h"
#include "core/sys/process.h"

struct err;
struct proctree;

/* One for a program: what its trees share. */
struct proctree_home {
    struct loop *loop;
    const char *cgroup; /* groups are made below this folder; NULL: sessions */
    int child_registry; /* for sessions: a list of all that is started; 0: none */
    uint64_t mark;      /* for sessions: treemark.home; 0: they have none */
    struct map known;   /* children of ours, by pid; freed with the last of them */
    uint64_t started;   /* how many there have been */
    struct timer reap;
};

/* Keeps `cgroup`, which may be NULL. The home must live as long as the loop. */
int proctree_home_init(struct proctree_home *home, struct loop *loop, const char *cgroup,
                       struct err *err);

typedef void proctree_exited_fn(struct proctree *tree, struct process_status status);
typedef void proctree_empty_fn(struct proctree *tree);

/* One that was left behind by a main process that ended. */
struct proctree_member;

struct proctree {
    struct proctree_home *home;
    proctree_exited_fn *on_exited;
    proctree_empty_fn *on_empty;
    struct process process; /* pid 0: none */
    struct watch main, events;
    struct cgroup cgroup;
    bool busy;    /* not empty, or not yet reported */
    bool exited;  /* the main process has ended */
    bool killing; /* whoever turns up is killed */
    bool stale;   /* its group was killed and is not used again */
    VEC(struct proctree_member *) members;
    pid_t known;  /* the key of the main process in home->known; 0: not there */
    uint64_t run; /* the last start: its treemark.tree */
};

void proctree_init(struct proctree *tree, struct proctree_home *home, proctree_exited_fn *on_exited,
                   proctree_empty_fn *on_empty);
/* `name` is that of its group: no '/' in it. Group and streams of the spec are set here; pipes are
 * in tree->process then, and the caller's. */
int proctree_start(struct proctree *tree, const char *name, struct process_spec *spec,
                   struct err *err);
/* Does nothing when there is nothing left. Errors have no remedy and are not reported: a process
 * that was not reached is signalled again, or killed later. */
void proctree_signal(struct proctree *tree, int signo);
void proctree_kill(struct proctree *tree);
/* Forget it: what runs, runs on. Its group is removed when it is empty. */
void proctree_done(struct proctree *tree);

#endif
