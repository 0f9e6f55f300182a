/*
 * event_line - an event as it is shown: a line for people, or a record.
 *
 * Memory: the arena. Threads: any.
 */
#ifndef COMMANDS_CLI_FLEET_EVENT_EVENT_LINE_H
#define COMMANDS_CLI_FLEET_EVENT_EVENT_LINE_H

#include <stdbool.h>

#include "commands/cli/fleet/link.h"
#include "core/base/str.h"

struct arena;
struct buf;
struct nats_msg;

struct event_line_style {
    struct str pattern; /* of keys; a NULL view: all */
    enum fleet_format format;
    bool has_date; /* of the line; a record has always one */
};

/* Append the event of a message. False if it is malformed, or the pattern does not match its key.
 * Origin and tag come from the subject. */
bool event_line_print(struct arena *arena, const struct event_line_style *style,
                      const struct nats_msg *msg, struct buf *out);

#endif
