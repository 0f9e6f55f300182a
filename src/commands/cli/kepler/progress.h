/*
 * kepler_progress - one line for each service on a terminal while waiting.
 *
 *     kepler_progress_init -> kepler_progress_start -> kepler_progress_set...
 *         -> kepler_progress_stop -> kepler_progress_done
 *
 * A spinner marks services that are starting or stopping. Prints nothing when stderr is not a
 * terminal. With more services than lines on the screen, each change is a separate line.
 *
 * Memory: kepler_progress_done frees. Threads: the loop's.
 */
#ifndef COMMANDS_CLI_KEPLER_PROGRESS_H
#define COMMANDS_CLI_KEPLER_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"
#include "core/base/map.h"
#include "core/sys/timers.h"

struct buf;
struct loop;
struct value;

struct kepler_progress {
    bool on;
    struct arena arena;
    struct map lines; /* service name to struct kepler_progress_line */
    size_t shown;     /* rows on the screen */
    size_t turn;      /* of the spinner */
    struct timers *timers;
    struct timer timer;
};

void kepler_progress_init(struct kepler_progress *progress, bool wanted);
/* Start the spinner, which runs as long as the loop. */
void kepler_progress_start(struct kepler_progress *progress, struct loop *loop);
void kepler_progress_stop(struct kepler_progress *progress);
/* Other output has reached the terminal: leave the old lines there. */
void kepler_progress_leave(struct kepler_progress *progress);
/* The body of an event "progress". */
void kepler_progress_set(struct kepler_progress *progress, const struct value *body);
/* Prints the services that are not ready, "db is running, web is waiting", even without a terminal;
 * unknown health counts as not ready. Returns whether there are any. */
bool kepler_progress_print_pending(const struct kepler_progress *progress, struct buf *out);
/* Did the service come up, as far as known? */
bool kepler_progress_is_up(const struct kepler_progress *progress, const char *service);
/* Why a service was skipped; NULL: it was not. */
const char *kepler_progress_find_skip(const struct kepler_progress *progress, const char *service);
/* Prints the services that were skipped or still wait, when no terminal is drawn on. */
void kepler_progress_print_not_started(const struct kepler_progress *progress, struct buf *out);
void kepler_progress_done(struct kepler_progress *progress);

#endif
