/*
 * main - the program zester-peel: configuration, signals, one agent on a loop.
 */
#ifndef PEEL_MAIN_H
#define PEEL_MAIN_H

/* Returns the exit status. */
int peel_main(int argc, char **argv);

#endif
