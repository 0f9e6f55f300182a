/*
 * leftover - processes of services that outlived their daemon, and their end.
 *
 * With control groups it is simple: all that a daemon started is in one group, whose
 * path is written down in the home. Without, each service leads a session whose number
 * and start time are on disk before anything else happens: in state.json, and for
 * those that were started since it was last written in a list of one line each. A
 * session keeps its number as long as one process is in it, so no stranger has it,
 * unless its leader is another one than ours was.
 *
 * Threads: any, before services are started.
 */
#ifndef DAEMON_LEFTOVER_H
#define DAEMON_LEFTOVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct record;

/* Beside state.json. */
#define LEFTOVER_FILE "pids"

/* What tells one process from a later one with its number; 0 when there is none. */
uint64_t leftover_start_time(pid_t pid);
/* Of this life of the machine. */
#define LEFTOVER_BOOT_SIZE 40
void leftover_boot_id(char ret_id[static LEFTOVER_BOOT_SIZE]);

/* Write down that a service leads this session, at once. `fd` is the open list. */
void leftover_note(int fd, pid_t pid, uint64_t start);

/* End everything in sessions that `record` (which may be NULL) and the list in `folder` name.
 * Returns how many processes were there. */
int leftover_kill(const char *folder, const struct record *record, size_t *ret_count,
                  struct err *err);
/* End everything in the group at `path` and remove it; not there is fine. */
int leftover_kill_group(const char *path, struct err *err);

#endif
