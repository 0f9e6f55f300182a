/*
 * neighbours - the hardware addresses of neighbours, through ip.
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_NETWORK_NEIGHBOURS_H
#define STATES_MODULES_NETWORK_NEIGHBOURS_H

struct err;
struct state_run;
struct value;

/* As in Salt: { hardware address: address }. */
int neighbours_call(struct state_run *run, const void *args, struct value *ret, struct err *err);
int neighbours_call6(struct state_run *run, const void *args, struct value *ret, struct err *err);

#endif
