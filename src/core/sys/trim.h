/*
 * trim - give memory back that a program needed to start, or for a task, and does not need now.
 *
 * Free memory of the heap goes back to the system, and pages of the program and its libraries that
 * were only read are let go: they come back by themselves, from the cache of the system, when they
 * are used again. Nothing that was written is touched.
 *
 * Threads: any; others may run meanwhile.
 */
#ifndef CORE_SYS_TRIM_H
#define CORE_SYS_TRIM_H

void trim_memory(void);

#endif
