/*
 * filter_by - the entry of a map that fits this machine: grains.filter_by and its kin.
 *
 * The keys of the lookup are compared with a value, as they are and then as patterns
 * ("CentOS*"); of a list the first item that has an entry counts. Without one it is the
 * entry called `default`. What is found lies on top of `base`, and `merge` on top of that.
 *
 * Threads: as the rendering that calls it.
 */
#ifndef COMPILE_FILTER_BY_H
#define COMPILE_FILTER_BY_H

struct bound;
struct render;
struct value;

/* The arguments are (lookup, what, merge, default, base); `fact` is the value of what is named by
 * the second, NULL when there is none. A map as second argument is taken for `merge`. */
int filter_by(struct render *render, const struct bound *bound, const struct value *fact,
              struct value *ret);

#endif
