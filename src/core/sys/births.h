/*
 * births - a list on disk of the children that a process has started, for the process after it.
 *
 * A child adds itself to the list before it runs (process_spec.births), so there is no moment in
 * which it lives and is not known. A number in the list is that child as long as the process of
 * that number was born when the list says.
 *
 *     births_kill(path) -> births_open(path, &fd) -> cancel.births = fd, process_run... ->
 * births_clear
 *
 * Threads: one; children add themselves at any time.
 */
#ifndef CORE_SYS_BIRTHS_H
#define CORE_SYS_BIRTHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct process_birth;

/* Kill every child in the list that still runs, with its descendants, and wait until they are gone.
 * Returns how many children there were. No list: none. */
int births_kill(const char *path, size_t *ret_count, struct err *err);
/* Begin an empty list. */
int births_open(const char *path, int *ret_fd, struct err *err);
/* Everything that was started has ended. */
void births_clear(int fd);

/* --- for lists of another form ---------------------------------------------------------- */

#define BIRTHS_BOOT_SIZE 40

/* Of /proc/PID/stat. */
struct births_stat {
    char state;
    pid_t parent, session;
    uint64_t start; /* ticks since boot */
    uint64_t ticks; /* of processors that it has used */
    uint64_t virtual_bytes, resident_pages;
};

bool births_read_stat(pid_t pid, struct births_stat *ret);
/* Which life of the machine this is; zeros when unknown. */
void births_read_boot(char ret_id[static BIRTHS_BOOT_SIZE]);
/* Is that child still there? */
bool births_is_alive(const struct process_birth *birth);

#endif
