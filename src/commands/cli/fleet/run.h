/*
 * fleet_run - a job from its dispatch to its answers on the terminal.
 *
 * Memory: the arena of the command. Threads: one.
 */
#ifndef COMMANDS_CLI_FLEET_RUN_H
#define COMMANDS_CLI_FLEET_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/cli/fleet/answer_text.h"
#include "fleet/view/job.h"
#include "fleet/jobs/rollout.h"
#include "core/sys/clock.h"

struct cli;
struct job;

/* A job that goes through its targets in waves. */
struct fleet_batch {
    const char *size; /* NULL: all at once */
    int64_t max_failures;
    bool has_max_failures;
    struct fleet_rollout rollout;
};

/* clang-format off */
#define FLEET_BATCH_OPTIONS(type, field)                                                                                             \
    PARAM("batch", STR, type, field.size, "run on this many peels at a time", .kind_text = "N|N%"),                                  \
    PARAM("max-failures", INT, type, field.max_failures, "with --batch: stop after this many failed peels", PARAM_GIVEN(type, field.has_max_failures), .default_text = "0", PARAM_RANGE(0, 1000000), .kind_text = "N"), \
    PARAM("pause", DURATION, type, field.rollout.pause, "with --batch: one wave after the other, with a pause between them", PARAM_RANGE(CLOCK_SECOND, ROLLOUT_PAUSE_MAX * CLOCK_SECOND)), \
    PARAM("gate", STR, type, field.rollout.gate, "with --batch: what must succeed on the peels of a wave before the next one begins", .kind_text = "'FUNCTION [ARG]'"), \
    PARAM("revert", CHOICE, type, field.rollout.revert, "states: what is reverted when some fail; wave and all require --batch", .choices = FLEET_REVERT_WORDS, .default_text = "none")
/* clang-format on */

/* Returns an option that requires --batch but was given without it; NULL: none. */
const char *fleet_batch_option(const struct fleet_batch *batch);

struct fleet_run {
    enum fleet_format format;
    bool async; /* print the id and do not wait */
    struct fleet_output output;
    struct fleet_batch batch;
};

/* How its answers are printed. Fails if the environment asks for something unknown; returns the
 * exit status. */
int fleet_run_style(struct cli *cli, const struct fleet_run *how, const char *function,
                    struct fleet_answers_style *ret);

/* Give it an id, dispatch it, show its progress, print the answers. Returns the exit status. */
int fleet_run_job(struct cli *cli, struct fleet *fleet, struct job *job,
                  const struct fleet_run *how);
/* The same for a job that was dispatched before. */
int fleet_watch_job(struct cli *cli, struct fleet *fleet, const struct job *job,
                    const struct fleet_run *how);

#endif
