/*
 * crash_point - a step at which tests of crashes end a daemon as kill -9 would.
 *
 * Does nothing in released programs. Test programs are linked with
 * tests/faults/points/crash_point.c instead, which documents how a step is chosen.
 *
 * Threads: any.
 */
#ifndef CORE_SYS_CRASH_POINT_H
#define CORE_SYS_CRASH_POINT_H

void crash_point(const char *step);

#endif
