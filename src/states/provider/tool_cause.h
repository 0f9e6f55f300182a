/*
 * tool_cause - why a program of the system failed, in our words, and what to do: known from what it
 * printed.
 *
 * Threads: any.
 */
#ifndef STATES_PROVIDER_TOOL_CAUSE_H
#define STATES_PROVIDER_TOOL_CAUSE_H

#include "core/base/str.h"

/* "the disk is full; ..."; NULL: not a known cause. */
const char *tool_cause(struct str output);

#endif
