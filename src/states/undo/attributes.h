/*
 * attributes - owner, extended attributes, mode and times of an image.
 *
 * The order matters: a new owner takes set-id bits and capabilities away, an access control list
 * changes the mode, and a mode changes the list.
 *
 * Threads: any.
 */
#ifndef STATES_UNDO_ATTRIBUTES_H
#define STATES_UNDO_ATTRIBUTES_H

#include <stdbool.h>

struct arena;
struct buf;
struct err;
struct image;
struct site;

/* The extended attributes of what is open. */
int attributes_take(struct arena *arena, int fd, struct image *image, struct err *err);

/* Of something that was just made in place of what the image shows: it becomes equal to that. */
int attributes_copy(const struct image *image, int fd, struct err *err);
/* Of what is at the site, which is of the kind of the image: owner, mode and what a change of these
 * took away. What was done is added to `out` in words. */
int attributes_restore(const struct image *image, struct site *site, struct buf *out,
                       bool *ret_changed, struct err *err);

#endif
