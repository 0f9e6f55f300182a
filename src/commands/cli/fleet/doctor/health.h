/*
 * health - waits until the agent of this machine is ready.
 */
#ifndef COMMANDS_CLI_FLEET_DOCTOR_HEALTH_H
#define COMMANDS_CLI_FLEET_DOCTOR_HEALTH_H

#include <stdint.h>

struct cli;
struct err;

/* Wait until the agent with this configuration is ready, for `wait` nanoseconds at most; one that
 * serves no health is not waited for. Fails with the reason why it is not. */
int health_wait_peel(struct cli *cli, const char *config, int64_t wait, struct err *err);

#endif
