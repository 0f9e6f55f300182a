/*
 * stall - a wait for the disk, during which another state may use the core.
 *
 * Many waits at once let the file system join them into one; but each needs a
 * worker, so only STALL_MAX of them give their place away. The others wait as
 * they are.
 *
 *     bool stalled = stall_begin();  fsync(...)  stall_end(stalled);
 *
 * Threads: any.
 */
#ifndef STATES_UNDO_STALL_H
#define STATES_UNDO_STALL_H

#include <stdbool.h>

#define STALL_MAX 32

bool stall_begin(void);
void stall_end(bool stalled);

#endif
