/*
 * main - the program zester-peel: configuration, signals, one agent on a loop.
 */
#ifndef FLEET_PEEL_MAIN_H
#define FLEET_PEEL_MAIN_H

/* The exit status when it has no credentials and no master may be trusted: somebody must look. */
#define PEEL_UNTRUSTED_STATUS 3

/* Returns the exit status. */
int peel_main(int argc, char **argv);

#endif
