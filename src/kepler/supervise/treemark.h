/*
 * treemark - an environment variable that marks the processes of a tree.
 *
 *     KEPLER_TREE=[OUTER:]0123456789abcdef.42        home, number of the tree
 *
 * For trees without a control group: a process that forks twice and leaves its session keeps its
 * environment, so it is found although nothing else ties it to its origin. A process that clears
 * its environment is not found. A daemon inside a tree of another one appends its word to the
 * other's.
 *
 * Threads: any.
 */
#ifndef KEPLER_SUPERVISE_TREEMARK_H
#define KEPLER_SUPERVISE_TREEMARK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct arena;

#define TREEMARK_NAME "KEPLER_TREE"

/* `home` is random and unique. */
struct treemark {
    uint64_t home, tree;
};

/* `env` with the mark added. */
const char *const *treemark_add(struct arena *arena, const char *const *env, struct treemark mark);
/* Does the process carry this home's mark, and for which tree? Also false without permission to
 * look. */
bool treemark_find(pid_t pid, uint64_t home, uint64_t *ret_tree);
/* Is it between exec and its first instruction, where neither its arguments nor its environment are
 * visible? A search for marks must check it again. */
bool treemark_is_hidden(pid_t pid);

#endif
