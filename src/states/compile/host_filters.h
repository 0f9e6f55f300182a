/*
 * host_filters - filters of Salt that ask the machine: files, programs, names, the network.
 *
 * Those of filters/ work on values alone; templates of states and settings have both.
 *
 * Memory: the arena. Threads: as the rendering.
 */
#ifndef STATES_COMPILE_HOST_FILTERS_H
#define STATES_COMPILE_HOST_FILTERS_H

struct arena;
struct builtins;

/* All built-in names, with these filters. */
const struct builtins *host_filters_builtins(struct arena *arena);

#endif
