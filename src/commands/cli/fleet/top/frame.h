/*
 * top_frame - one picture of a fleet, as lines of text.
 *
 *     zester top   2 machines, 2 online, 1 failed, 0 drifted   1 master   0 jobs   ...
 *     1 machines  2 jobs  3 events  4 reactions
 *
 *     MACHINE  OS      UP   SEEN  CONVERGED  DRIFT
 *     web-01   debian  yes  3s    5m         none
 *
 *     last event     08:41:02  web-01/beacon/service/failed
 *     last reaction  08:41:02  restart  dispatched
 *     q quit  ? keys  Enter open  1-4 list  s sort: name  / filter
 *
 * With a terminal, exactly as many lines as it has rows, none wider than it. Nothing that a machine
 * said steers the terminal.
 *
 * Pure. Threads: any.
 */
#ifndef COMMANDS_CLI_FLEET_TOP_FRAME_H
#define COMMANDS_CLI_FLEET_TOP_FRAME_H

#include <stdint.h>

#include "core/data/value.h"

struct arena;
struct buf;
struct top_model;
struct top_view;

/* Lines that each end with \n. Keeps the cursor of the view within the rows that there are. `now`
 * is wall time in nanoseconds. */
void top_frame_print(const struct top_model *model, struct top_view *view, int64_t now,
                     struct buf *out);
/* The same as data, all rows. */
struct value top_frame_value(struct arena *arena, const struct top_model *model, int64_t now);

#endif
