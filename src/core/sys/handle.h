/*
 * handle - finds a file again after it was renamed.
 *
 * A handle is bytes that the file system returns for an inode. It finds that file as long as the
 * file has a name. Only root may use handles, and not every file system has them.
 *
 * Threads: any.
 */
#ifndef CORE_SYS_HANDLE_H
#define CORE_SYS_HANDLE_H

#include "core/base/str.h"

struct arena;

/* The handle of an open file; a NULL view when there is none. */
struct str handle_take(struct arena *arena, int fd);
/* Open the file for reading; -1 when it is gone or must not be opened this way. `folder` is an open
 * folder of the same file system. */
int handle_open(int folder, struct str handle);

#endif
