/*
 * merging - maps of templates laid over one another, as Salt's functions do it.
 *
 * Maps merge key by key, deeply; everything else is replaced. With MERGING_JOIN lists
 * are joined, without what is in both. A result shares nothing with what it was made
 * from, so that a template may change it.
 *
 * Threads: as the rendering.
 */
#ifndef COMPILE_MERGING_H
#define COMPILE_MERGING_H

struct render;
struct value;

/* Maps inside one another. */
#define MERGING_DEPTH_MAX 128

enum merging_lists {
    MERGING_REPLACE,
    MERGING_JOIN,
};

/* `over` on top of `base`. */
int merging_make(struct render *render, const struct value *base, const struct value *over,
                 enum merging_lists lists, struct value *ret);
/* The same, in place: both are maps, and `base` changes for everybody who sees it. */
int merging_update(struct render *render, const struct value *base, const struct value *over,
                   enum merging_lists lists);

#endif
