/*
 * kepler_progress - one line for each service on a terminal, while one waits.
 *
 *     kepler_progress_init -> kepler_progress_set... -> kepler_progress_done
 *
 * Nothing at all when stderr is no terminal. When there are more services than lines
 * on the screen, each change is a line of its own.
 *
 * Memory: kepler_progress_done frees. Threads: one.
 */
#ifndef CLI_KEPLER_PROGRESS_H
#define CLI_KEPLER_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/map.h"

struct value;

struct kepler_progress {
    bool on, drawn;
    struct arena arena;
    struct map lines; /* by service, to its text */
    size_t shown;     /* lines on the screen */
};

void kepler_progress_init(struct kepler_progress *progress, bool wanted);
/* The body of an event "progress". */
void kepler_progress_set(struct kepler_progress *progress, const struct value *body);
void kepler_progress_done(struct kepler_progress *progress);

#endif
