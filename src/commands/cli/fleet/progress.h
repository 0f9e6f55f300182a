/*
 * fleet_progress - how far a job is on each peel, while a command waits for the answers.
 *
 * Peels publish what happens to a job before it returns: it waits for another one, its run has
 * begun, a state has ended. On a terminal there is a block of lines that is drawn again and again:
 * one for each peel that has not succeeded yet, failures first, then the slowest, and below them a
 * line that counts. With few peels each state is also printed as it ends. Where stderr is not a
 * terminal, few peels still say what a job waits for, and nothing else is printed.
 *
 *     fleet_progress_begin -> (answers come) -> fleet_progress_end
 *
 * Memory: fleet_progress_end frees. Threads: the loop's.
 */
#ifndef COMMANDS_CLI_FLEET_PROGRESS_H
#define COMMANDS_CLI_FLEET_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "commands/cli/fleet/answers.h"
#include "commands/cli/shared/screen.h"
#include "core/sys/timers.h"

struct buf;
struct err;
struct exec_progress;
struct fleet;
struct job;
struct nats_sub;

/* Size of the text of a line. */
#define FLEET_PROGRESS_TEXT 256

struct fleet_progress_row {
    bool is_queued, has_begun;
    uint32_t done, total, failed;
    char text[FLEET_PROGRESS_TEXT]; /* the state that ended last, or what it waits for */
};

struct fleet_progress {
    const struct fleet_answers *answers;
    struct fleet_progress_row *rows; /* in the order of the answers */
    struct nats_sub *sub;
    struct timers *timers;
    struct timer timer;
    int64_t began;
    size_t shown; /* lines on the screen */
    bool is_live, is_small, is_test;
};

/* Before the job is dispatched. `quiet`: print nothing unless stderr is a terminal. */
int fleet_progress_begin(struct fleet_progress *progress, struct fleet *fleet,
                         const struct job *job, const struct fleet_answers *answers, bool quiet,
                         struct err *err);
/* The block is gone. Safe to call twice. */
void fleet_progress_end(struct fleet_progress *progress);

/* For tests: a message about the peel, and the lines at that time. */
void fleet_progress_note(struct fleet_progress *progress, struct str peel,
                         const struct exec_progress *message);
void fleet_progress_draw(const struct fleet_progress *progress, int64_t elapsed,
                         struct screen screen, struct buf *out);

#endif
