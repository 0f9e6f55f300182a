/*
 * kepler_progress - one line for each service on a terminal, while one waits.
 *
 *     kepler_progress_init -> kepler_progress_start -> kepler_progress_set...
 *         -> kepler_progress_stop -> kepler_progress_done
 *
 * A mark turns in front of services that are on their way. Nothing at all when stderr is
 * no terminal. When there are more services than lines on the screen, each change is a
 * line of its own.
 *
 * Memory: kepler_progress_done frees. Threads: the loop's.
 */
#ifndef CLI_KEPLER_PROGRESS_H
#define CLI_KEPLER_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/map.h"
#include "sys/timers.h"

struct buf;
struct loop;
struct value;

struct kepler_progress {
    bool on;
    struct arena arena;
    struct map lines; /* by service, to its struct kepler_progress_line */
    size_t shown;     /* rows on the screen */
    size_t turn;      /* of the mark */
    struct timers *timers;
    struct timer timer;
};

void kepler_progress_init(struct kepler_progress *progress, bool wanted);
/* Let the mark turn, from here on and as long as the loop runs. */
void kepler_progress_start(struct kepler_progress *progress, struct loop *loop);
void kepler_progress_stop(struct kepler_progress *progress);
/* Somebody else has written to the terminal: what stands there stays. */
void kepler_progress_leave(struct kepler_progress *progress);
/* The body of an event "progress". */
void kepler_progress_set(struct kepler_progress *progress, const struct value *body);
/* Those that are on their way, "db is running, web is waiting", also without a terminal: a service
 * whose health is not known yet counts. Returns whether there are any. */
bool kepler_progress_print_pending(const struct kepler_progress *progress, struct buf *out);
/* Did it come up, as far as is known? */
bool kepler_progress_is_up(const struct kepler_progress *progress, const char *service);
/* Why a service was skipped; NULL: it was not. */
const char *kepler_progress_find_skip(const struct kepler_progress *progress, const char *service);
/* The lines of those that were skipped or still wait, for where nothing is drawn. */
void kepler_progress_print_not_started(const struct kepler_progress *progress, struct buf *out);
void kepler_progress_done(struct kepler_progress *progress);

#endif
