/*
 * proctree - a process and all its descendants, until none is left.
 *
 * Where control groups are available, a tree is one: nothing leaves it, a signal reaches all of
 * it, and the kernel reports when it is empty. Elsewhere the main process leads a session and
 * adopts the orphans below it; processes left when it ends become children of ours (we are a
 * subreaper), and are recognized by their mark (kepler/supervise/treemark.h); one without a mark
 * belongs to the tree that ended last. Nothing else may start children in the same process.
 *
 * Stray processes that end as our children are reaped, here and as the first process of a
 * container.
 *
 *     proctree_home_init -> proctree_start -> on_exited -> on_empty -> proctree_done
 *
 * Both callbacks come from the loop, each once, in this order. In on_empty the tree is ready for
 * the next start, and must not be freed. An idle tree holds no descriptor and has no group.
 * Nothing here blocks.
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

/* Shared by all trees of a program. */
struct proctree_home {
    struct loop *loop;
    const char *cgroup; /* groups are created below this folder; NULL: sessions */
    int child_registry; /* for sessions: a list of all started processes; 0: none */
    uint64_t mark;      /* for sessions: treemark.home; 0: no marks */
    struct map known;   /* our children, by pid; freed with the last of them */
    uint64_t started;   /* number of starts */
    struct timer reap;
};

/* Keeps `cgroup`, which may be NULL. The home must live as long as the loop. */
int proctree_home_init(struct proctree_home *home, struct loop *loop, const char *cgroup,
                       struct err *err);

typedef void proctree_exited_fn(struct proctree *tree, struct process_status status);
typedef void proctree_empty_fn(struct proctree *tree);

/* A process left behind when the main process ended. */
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
    bool killing; /* new members are killed */
    bool stale;   /* its group was killed and must not be reused */
    VEC(struct proctree_member *) members;
    pid_t known;  /* the key of the main process in home->known; 0: not there */
    uint64_t run; /* the last start: its treemark.tree */
};

void proctree_init(struct proctree *tree, struct proctree_home *home, proctree_exited_fn *on_exited,
                   proctree_empty_fn *on_empty);
/* `name` is its group's: no '/' in it. Sets group and streams of the spec; the pipes are in
 * tree->process then, and belong to the caller. */
int proctree_start(struct proctree *tree, const char *name, struct process_spec *spec,
                   struct err *err);
/* No-ops for an empty tree. Errors have no remedy and are not reported: a missed process is
 * signalled again, or killed later. */
void proctree_signal(struct proctree *tree, int signo);
void proctree_kill(struct proctree *tree);
/* Abandons it: its processes continue. Its group is removed when it is empty. */
void proctree_done(struct proctree *tree);

#endif
