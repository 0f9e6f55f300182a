/*
 * event_list - the events that the stream still has, oldest first.
 */
#ifndef COMMANDS_CLI_FLEET_EVENT_EVENT_LIST_H
#define COMMANDS_CLI_FLEET_EVENT_EVENT_LIST_H

#include <stdint.h>

#include "commands/cli/fleet/event/event_line.h"

struct err;

/* Print those that were stored at `since` (nanoseconds since 1970) or later. */
int event_list_print(struct fleet *fleet, const struct event_line_style *style, int64_t since,
                     struct err *err);

#endif
