/*
 * fstab - the text of /etc/fstab, and how it and the kernel escape blanks.
 *
 * An entry is identified by its mount point; those without one (swap) by their device and kind.
 * Other lines stay byte for byte.
 *
 * Memory: decoded fields are in the arena. Threads: any.
 */
#ifndef CORE_EDIT_FSTAB_H
#define CORE_EDIT_FSTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

struct arena;
struct buf;

struct fstab_entry {
    const char *device, *folder, *type, *options;
    int64_t dump, pass;
};

/* "\040" is a blank: decode and encode a field. */
const char *fstab_decode(struct arena *arena, struct str field);
void fstab_encode(struct str text, struct buf *out);

/* Take the next entry off the text; false when there is none. */
bool fstab_next(struct arena *arena, struct str *text, struct fstab_entry *ret_entry);
/* The last entry of a mount point; false when there is none. */
bool fstab_find(struct arena *arena, struct str text, const char *folder,
                struct fstab_entry *ret_entry);
/* The last entry that `like` would replace: by mount point, or by device and kind. Its kind may be
 * NULL: any. */
bool fstab_find_like(struct arena *arena, struct str text, const struct fstab_entry *like,
                     struct fstab_entry *ret_entry);
/* The text with this entry: in the place of the one that it replaces, else at the end. */
void fstab_set(struct str text, const struct fstab_entry *entry, struct buf *out);
/* The text without entries of the mount point. */
void fstab_remove(struct str text, const char *folder, struct buf *out);
/* The text without entries that `like` would replace. */
void fstab_remove_like(struct str text, const struct fstab_entry *like, struct buf *out);

#endif
