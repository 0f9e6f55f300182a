/*
 * probe - programs that ask the network about a host.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_NETWORK_PROBE_H
#define STATES_MODULES_NETWORK_PROBE_H

struct err;
struct process_result;
struct state_run;

/* Run the words, which end in NULL, and then `host`. What is not a name or an address, and could be
 * an option, is refused. How the program ended is a result. */
int probe_run(struct state_run *run, const char *const *words, const char *host,
              struct process_result *ret, struct err *err);

#endif
