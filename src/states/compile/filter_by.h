/*
 * filter_by - the entry of a map that matches this machine: grains.filter_by and related functions.
 *
 * The keys of the lookup are compared with a value, exactly and then as patterns ("CentOS*"); for a
 * list, the first item with an entry is used. Without a match, the entry is `default`. It is merged
 * over `base`, and `merge` over the result.
 *
 * Threads: as the rendering that calls it.
 */
#ifndef STATES_COMPILE_FILTER_BY_H
#define STATES_COMPILE_FILTER_BY_H

struct bound_args;
struct render;
struct value;

/* The arguments are (lookup, what, merge, default, base); `fact` is the value that the second
 * one names, NULL when there is none. A map as second argument means `merge`. */
int filter_by(struct render *render, const struct bound_args *bound, const struct value *fact,
              struct value *ret);

#endif
