/*
 * progress - shows the progress of a run on the last line of a terminal.
 *
 * The level, how many states are done, which ones run, and for how long. Prints nothing when stderr
 * is not a terminal: pipes get the report only.
 *
 *     progress_init -> run with progress_sink -> progress_done (the line is gone)
 */
#ifndef COMMANDS_CLI_SHARED_PROGRESS_H
#define COMMANDS_CLI_SHARED_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "states/run/run.h"

struct progress {
    bool on;
    int64_t start, drawn; /* monotonic nanoseconds */
    uint32_t level, levels, done, states;
    VEC(const char *) running;
    struct run_sink sink;
};

void progress_init(struct progress *progress, bool wanted);
const struct run_sink *progress_sink(struct progress *progress);
void progress_done(struct progress *progress);

#endif
