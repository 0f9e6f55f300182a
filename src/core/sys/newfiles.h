/*
 * newfiles - several new files in a folder: all of them, or none.
 *
 * For keys and certificates, which are never overwritten. They are written in order, synced, so
 * that the last one shows that all exist.
 *
 * Threads: any.
 */
#ifndef CORE_SYS_NEWFILES_H
#define CORE_SYS_NEWFILES_H

#include <stddef.h>
#include <sys/types.h>

#include "core/base/str.h"

struct err;

struct newfile {
    const char *name;
    struct str text;
    mode_t mode;
};

/* The folder is created, with mode 0700, when it is missing. Fails with ERR_BUSY, and `why` in its
 * text, when one of the files exists; on failure the new files are removed. */
int newfiles_write(const char *folder, const struct newfile *files, size_t count, const char *why,
                   struct err *err);

/* Remove the files of newfiles_write, when a later step fails. */
void newfiles_remove(const char *folder, const struct newfile *files, size_t count);

/* Rename existing files to NAME and `suffix`, to make room for new ones; on failure none is
 * renamed. ERR_BUSY: that name is taken. */
int newfiles_set_aside(const char *folder, const struct newfile *files, size_t count,
                       const char *suffix, struct err *err);
/* Rename them back. */
void newfiles_put_back(const char *folder, const struct newfile *files, size_t count,
                       const char *suffix);

#endif
