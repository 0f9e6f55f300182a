/*
 * kepler_follow - start, and stay until there is nothing more to wait for.
 *
 * In the foreground: what services write is shown until nothing will ever happen again;
 * Ctrl+C stops what we started, a second one ends us at once. Detached: until all are ready. A
 * failure that no service waits for decides the exit status, and may stop everything.
 */
#ifndef CLI_KEPLER_FOLLOW_H
#define CLI_KEPLER_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "control/request.h"
#include "logs/log_line.h"

struct arena;

struct kepler_follow {
    enum request_kind kind;
    struct request_start start; /* with `follow`, and `logs` in the foreground */
    bool detached;              /* until ready, without lines */
    bool abort;                 /* stop all at the first failure that nobody handles */
    bool clean;                 /* at the end: stop and forget */
    bool only_look;             /* Ctrl+C ends the command, not the services */
    bool quiet;
    bool verbose;    /* tell of hooks */
    int64_t timeout; /* nanoseconds; 0: none */
    enum log_line_form form;
    bool color; /* of lines */
};

/* Returns the exit status. */
int kepler_follow(struct arena *arena, const struct kepler_follow *follow);

#endif
