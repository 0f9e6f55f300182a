/*
 * main - the program zester-peel: configuration, signals, one agent on a loop.
 */
#ifndef FLEET_PEEL_MAIN_H
#define FLEET_PEEL_MAIN_H

#include <signal.h>

/* Exit status without credentials and without a trusted master: an administrator must act. */
#define PEEL_UNTRUSTED_STATUS 3

/* The agent ends once no job runs, for its supervisor to start the installed version. */
#define PEEL_LEAVE_SIGNAL SIGUSR1

/* Returns the exit status. */
int peel_main(int argc, char **argv);

#endif
