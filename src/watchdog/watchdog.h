/*
 * watchdog - the program zester-watchdog: a keeper (update/keeper.h) on this machine, its child,
 * its slots, and the commands of masters.
 */
#ifndef WATCHDOG_WATCHDOG_H
#define WATCHDOG_WATCHDOG_H

/* Returns the exit status. */
int watchdog_main(int argc, char **argv);

#endif
