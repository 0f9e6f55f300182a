/*
 * ssh_node - the far side of 'zester ssh': one request on standard input, its answer on standard
 * output (fleet/ssh/message.h).
 *
 * Started by fleet/ssh/script.h in the folder of fleet/ssh/store.h. The end of standard input ends
 * the run and everything that it started.
 */
#ifndef COMMANDS_CLI_FLEET_SSH_NODE_H
#define COMMANDS_CLI_FLEET_SSH_NODE_H

/* The whole program; returns its exit status. */
int ssh_node_main(void);

#endif
