/*
 * interrupt - Ctrl-C, SIGTERM and a time limit, as a token that ends what runs.
 *
 * One per process, since signals belong to the process.
 */
#ifndef COMMANDS_CLI_SHARED_INTERRUPT_H
#define COMMANDS_CLI_SHARED_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

struct cancel;

/* Raise `cancel` at the next of them, or at a hangup unless nohup has made us ignore it; `timeout`
 * in nanoseconds, 0: none. Keeps the token. */
void interrupt_watch(struct cancel *cancel, int64_t timeout);
/* Was it the time limit? */
bool interrupt_timed_out(void);
/* Forget the token. */
void interrupt_forget(void);

#endif
