/*
 * fd - file descriptors: closing, reading, writing, their limit.
 *
 *     AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
 *
 * A number below zero is "none" everywhere. Threads: any; fd_limit_raise is for
 * the start of a program.
 */
#ifndef CORE_SYS_FD_H
#define CORE_SYS_FD_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct rlimit;

/* Close, unless it is none, and set it to none. */
void fd_close(int *fd);
/* Return the number and forget it. */
int fd_take(int *fd);

/* A local that closes itself. */
#define AUTO_FD __attribute__((cleanup(fd_close)))

/* Write all of it. The error names neither file nor step: the caller wraps. */
int fd_write(int fd, const void *data, size_t size, struct err *err);
/* Read up to `size` bytes, less only at the end. */
int fd_read(int fd, void *data, size_t size, size_t *ret_size, struct err *err);
/* One read(2); 0 bytes are the end. */
int fd_read_some(int fd, void *data, size_t size, size_t *ret_size, struct err *err);

/* Raise the limit of open files to the hard limit: a thousand children with pipes need thousands.
 * Children start with the old limit. */
void fd_limit_raise(void);
/* Reserve this many of them from now on, a quarter at most; 0: none. Only after the limit was
 * raised: critical operations have room left where all others get EMFILE. */
void fd_limit_spare(size_t count);
/* The limit before it was raised; false when it never was. */
bool fd_limit_before(struct rlimit *ret_limit);

#endif
