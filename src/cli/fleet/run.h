/*
 * fleet_run - a job from its dispatch to its answers on the terminal.
 *
 * Memory: the arena of the command. Threads: one.
 */
#ifndef CLI_FLEET_RUN_H
#define CLI_FLEET_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/fleet/link.h"

struct cli;
struct job;

/* A job that goes through its targets in waves. */
struct fleet_batch {
    const char *size; /* NULL: all at once */
    int64_t max_failures;
    bool has_max_failures;
};

/* clang-format off */
#define FLEET_BATCH_OPTIONS(type, field)                                                                                             \
    PARAM("batch", STR, type, field.size, "run on this many peels at a time", .kind_text = "N|N%"),                                  \
    PARAM("max-failures", INT, type, field.max_failures, "with --batch: stop after this many failed peels", PARAM_GIVEN(type, field.has_max_failures), .default_text = "0", PARAM_RANGE(0, 1000000), .kind_text = "N")
/* clang-format on */

struct fleet_run {
    enum fleet_format format;
    bool async; /* print the id and do not wait */
    struct fleet_batch batch;
};

/* Give it an id, dispatch it, show how it goes, print the answers. Returns the exit status. */
int fleet_run_job(struct cli *cli, struct fleet *fleet, struct job *job,
                  const struct fleet_run *how);
/* The same for a job that was dispatched before. */
int fleet_watch_job(struct cli *cli, struct fleet *fleet, const struct job *job,
                    enum fleet_format format);

#endif
