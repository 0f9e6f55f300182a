/*
 * child registry - a list on disk of the children that a process has started, for the process after
 * it.
 *
 * A child adds itself to the list before it runs (process_spec.child registry), so there is no
 * moment in which it lives and is not known. A number in the list is that child as long as the
 * process of that number was born when the list says.
 *
 *     child_registry_kill(path) -> child_registry_open(path, &fd) -> cancel.child registry = fd,
 * process_run... -> child_registry_clear
 *
 * Threads: one; children add themselves at any time.
 */
#ifndef CORE_SYS_CHILD_REGISTRY_H
#define CORE_SYS_CHILD_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct process_birth;

/* Kill every child in the list that still runs, with its descendants, and wait until they are gone.
 * Returns how many children there were. No list: none. */
int child_registry_kill(const char *path, size_t *ret_count, struct err *err);
/* Begin an empty list. */
int child_registry_open(const char *path, int *ret_fd, struct err *err);
/* Everything that was started has ended. */
void child_registry_clear(int fd);

/* --- for lists of another form ---------------------------------------------------------- */

#define CHILD_REGISTRY_BOOT_SIZE 40

/* Of /proc/PID/stat. */
struct child_registry_stat {
    char state;
    pid_t parent, session;
    uint64_t start; /* ticks since boot */
    uint64_t ticks; /* of processors that it has used */
    uint64_t virtual_bytes, resident_pages;
};

bool child_registry_read_stat(pid_t pid, struct child_registry_stat *ret);
/* Which life of the machine this is; zeros when unknown. */
void child_registry_read_boot(char ret_id[static CHILD_REGISTRY_BOOT_SIZE]);
/* Is that child still there? */
bool child_registry_is_alive(const struct process_birth *birth);

#endif
