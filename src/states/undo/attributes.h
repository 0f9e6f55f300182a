/*
 * attributes - owner, extended attributes, mode and times of an image.
 *
 * The order matters: a new owner clears set-id bits and capabilities, an access control list
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

/* The extended attributes of an open file. */
int attributes_take(struct arena *arena, int fd, struct image *image, struct err *err);

/* Set all attributes of the image on its newly created replacement. */
int attributes_copy(const struct image *image, int fd, struct err *err);
/* Restore owner and mode at the site, which has the image's file type, and whatever the change
 * cleared. Describes the changes in `out`. */
int attributes_restore(const struct image *image, struct site *site, struct buf *out,
                       bool *ret_changed, struct err *err);

#endif
