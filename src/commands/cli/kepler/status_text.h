/*
 * kepler_status_text - the state of a service in words.
 *
 *     Up 5m (healthy)    Exited (0) 14s ago    Skipped (reason)    waiting
 */
#ifndef COMMANDS_CLI_KEPLER_STATUS_TEXT_H
#define COMMANDS_CLI_KEPLER_STATUS_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "commands/cli/shared/color.h"

struct arena;
struct buf;
struct value;

/* `service` is a map from the daemon; `now` is wall time. */
void kepler_status_print(const struct value *service, int64_t now, struct buf *out);
/* For the same map. */
enum color kepler_status_color(const struct value *service);
/* How a service failed: "exit code 3", "SIGKILL", or its reason. */
void kepler_failure_print(const struct value *service, struct buf *out);
/* Reasons may have several lines; a table row has one. */
const char *kepler_one_line(struct arena *arena, struct str text);
/* The text, or as much of it as fits, and an ellipsis; 0 columns: no limit. */
const char *kepler_fit(struct arena *arena, const char *text, size_t columns);

#endif
