/*
 * child_registry - a list on disk of the children that a process started, for its successor.
 *
 * A child adds itself to the list before it runs (process_spec.child_registry), so no running child
 * is missing. A number in the list is that child only if the process with that number was born when
 * the list says.
 *
 *     child_registry_kill(path) -> child_registry_open(path, &fd)
 *         -> cancel.child_registry = fd, process_run... -> child_registry_clear
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
/* Create an empty list. */
int child_registry_open(const char *path, int *ret_fd, struct err *err);
/* Empty the list: all children have ended. */
void child_registry_clear(int fd);

/* --- for lists of another form ---------------------------------------------------------- */

#define CHILD_REGISTRY_BOOT_SIZE 40

/* Fields of /proc/PID/stat. */
struct child_registry_stat {
    char state;
    pid_t parent, session;
    uint64_t start; /* ticks since boot */
    uint64_t ticks; /* processor time used */
    uint64_t virtual_bytes, resident_pages;
};

bool child_registry_read_stat(pid_t pid, struct child_registry_stat *ret);
/* The boot ID of the machine; zeros when unknown. */
void child_registry_read_boot(char ret_id[static CHILD_REGISTRY_BOOT_SIZE]);
/* Is that very child still running? */
bool child_registry_is_alive(const struct process_birth *birth);

#endif
