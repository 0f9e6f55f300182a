/*
 * stall - a disk wait that lends the core to another state.
 *
 * The file system can merge many concurrent waits; but each needs a worker, so only STALL_MAX of
 * them give their core away. The others just wait.
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
