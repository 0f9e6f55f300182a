/*
 * treemark - a word in the environment by which the processes of a tree know each other.
 *
 *     KEPLER_TREE=[OUTER:]0123456789abcdef.42        home, number of the tree
 *
 * For trees without a control group: whoever forks twice and leaves its session keeps its
 * environment, so it is found although nothing else ties it to where it came from. A process that
 * clears its environment is not found. A daemon inside a tree of another one adds its word to the
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

/* `home` is nobody else's; chosen at random. */
struct treemark {
    uint64_t home, tree;
};

/* `env` with the mark in it. */
const char *const *treemark_add(struct arena *arena, const char *const *env, struct treemark mark);
/* Is the process marked by this home, and for which tree? False as well when we may not look. */
bool treemark_find(pid_t pid, uint64_t home, uint64_t *ret_tree);
/* Is it between exec and its first instruction, where it shows neither its words nor its
 * environment? A search for marks must look at it again. */
bool treemark_is_hidden(pid_t pid);

#endif
