/*
 * watchdog - the program zester-watchdog: a keeper (fleet/update/keeper.h) on this machine, its
 * child, its slots, and the commands of masters.
 */
#ifndef FLEET_WATCHDOG_WATCHDOG_H
#define FLEET_WATCHDOG_WATCHDOG_H

/* Returns the exit status. */
int watchdog_main(int argc, char **argv);

#endif
