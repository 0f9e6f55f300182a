/*
 * handle - finds a file again by what it is, whatever its name is by then.
 *
 * A handle is bytes that the file system gives out for an inode. It leads to that file as long as
 * one of its names is left. Only root may use it, and not every file system has it: then there is
 * none.
 *
 * Threads: any.
 */
#ifndef CORE_SYS_HANDLE_H
#define CORE_SYS_HANDLE_H

#include "core/base/str.h"

struct arena;

/* The handle of what is open; a NULL view when there is none. */
struct str handle_take(struct arena *arena, int fd);
/* The file, for reading; -1 when it is gone or may not be opened like this. `folder` is an open
 * folder of the same file system. */
int handle_open(int folder, struct str handle);

#endif
