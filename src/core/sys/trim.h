/*
 * trim - returns memory to the system that a program needed to start, or for a finished task.
 *
 * Free heap memory goes back to the system, and unmodified pages of the program and its libraries
 * are released: the kernel loads them again when they are used. Modified pages stay.
 *
 * Threads: any; others may run meanwhile.
 */
#ifndef CORE_SYS_TRIM_H
#define CORE_SYS_TRIM_H

void trim_memory(void);

#endif
