/*
 * links - network interfaces as Salt shows them.
 *
 *     eth0: {up: true, hwaddr: 52:54:00:12:34:56,
 *            inet: [{address: 10.0.0.2, netmask: 255.255.255.0}],
 *            inet6: [{address: fe80::1, prefixlen: 64}]}
 *
 * Memory: the arena of the run. Threads: any.
 */
#ifndef STATES_MODULES_NETWORK_LINKS_H
#define STATES_MODULES_NETWORK_LINKS_H

struct err;
struct state_run;
struct value;

int links_read(struct state_run *run, struct value *ret, struct err *err);

#endif
