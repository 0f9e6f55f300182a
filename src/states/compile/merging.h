/*
 * merging - merges maps of templates like Salt's functions.
 *
 * Maps merge key by key, deeply; everything else is replaced. With MERGING_JOIN, lists are joined
 * without duplicates. The result shares nothing with its sources, so a template may change it.
 *
 * Threads: as the rendering.
 */
#ifndef STATES_COMPILE_MERGING_H
#define STATES_COMPILE_MERGING_H

struct render;
struct value;

/* Maximum depth of maps. */
#define MERGING_DEPTH_MAX 128

enum merging_lists {
    MERGING_REPLACE,
    MERGING_JOIN,
};

/* `over` on top of `base`. */
int merging_make(struct render *render, const struct value *base, const struct value *over,
                 enum merging_lists lists, struct value *ret);
/* The same, in place: both are maps, and `base` itself changes. */
int merging_update(struct render *render, const struct value *base, const struct value *over,
                   enum merging_lists lists);

#endif
