/*
 * fd - open files as numbers: closing them, filling them, how many there may be.
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
/* Hand the number out and forget it. */
int fd_take(int *fd);

/* A local that closes itself. */
#define AUTO_FD __attribute__((cleanup(fd_close)))

/* Write all of it. The error names neither file nor step: the caller wraps. */
int fd_write(int fd, const void *data, size_t size, struct err *err);
/* Read up to `size` bytes, less only at the end. */
int fd_read(int fd, void *data, size_t size, size_t *ret_size, struct err *err);
/* What one call of the system returns; 0 bytes are the end. */
int fd_read_some(int fd, void *data, size_t size, size_t *ret_size, struct err *err);

/* Allow this process as many open files as the hard limit allows: a thousand children with pipes
 * need thousands. Children are started with the limit that was there before. */
void fd_limit_raise(void);
/* Keep so many of them free from now on, a quarter at most; 0: none. Only after the limit was
 * raised: what must not fail then has room where everything else gets EMFILE. */
void fd_limit_spare(size_t count);
/* What the limit was before it was raised; false when it never was. */
bool fd_limit_before(struct rlimit *ret_limit);

#endif
