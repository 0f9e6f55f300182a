/*
 * kepler_follow - starts services, and stays until nothing is left to wait for.
 *
 * In the foreground: shows logs until all services have ended for good; Ctrl+C stops what we
 * started, a second one exits at once. Detached: until all are ready. An unhandled failure decides
 * the exit status, and may stop everything.
 */
#ifndef COMMANDS_CLI_KEPLER_FOLLOW_H
#define COMMANDS_CLI_KEPLER_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "kepler/control/request.h"
#include "kepler/logs/log_line.h"

struct arena;

struct kepler_follow {
    enum request_kind kind;
    struct request_start start; /* with `follow`, and `logs` in the foreground */
    bool detached;              /* until ready, without lines */
    bool abort;                 /* stop all services at the first unhandled failure */
    bool clean;                 /* at the end: stop and remove stored data */
    bool only_look;             /* Ctrl+C ends the command, not the services */
    bool quiet;
    bool verbose;    /* report hooks */
    int64_t timeout; /* nanoseconds; 0: none */
    enum log_line_form form;
    bool color; /* of log lines */
};

/* Returns the exit status. */
int kepler_follow(struct arena *arena, const struct kepler_follow *follow);

#endif
