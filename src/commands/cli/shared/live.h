/*
 * live - a command that draws on the whole terminal until it is ended.
 *
 *     live_open -> the loop runs: { draw, press }... until is_over -> live_close
 *
 * Draws when asked, at most ten times a second, and each second by itself. Ctrl-C is a key;
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT end it, and so does a terminal that is gone. The terminal
 * is restored when it ends (commands/cli/shared/terminal.h).
 *
 * Memory: its owner's. Threads: the loop's.
 */
#ifndef COMMANDS_CLI_SHARED_LIVE_H
#define COMMANDS_CLI_SHARED_LIVE_H

#include <stdbool.h>

#include "commands/cli/shared/screen.h"
#include "core/sys/loop.h"

struct buf;
struct err;

struct live {
    struct loop *loop;
    void *self;
    /* Lines for a terminal of this size. */
    void (*draw)(void *self, struct screen screen, struct buf *out);
    void (*press)(void *self, int key);
    void (*over)(void *self); /* is_over was set; or NULL */

    bool is_over;      /* may be set by the owner */
    bool is_suspended; /* by `press`: others use the terminal until the shell resumes us */
    int signo;         /* the signal that ended it; 0: none */

    bool is_open; /* the rest is set here */
    int64_t drawn;
    struct watch keys;
    struct timer timer;
};

/* The caller sets the first five fields. */
int live_open(struct live *live, struct err *err);
/* Does nothing if it is not open. */
void live_close(struct live *live);
/* Something has changed. */
void live_redraw(struct live *live);
void live_end(struct live *live);

#endif
