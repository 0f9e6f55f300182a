/*
 * catchup - a run of states begins with the latest published files.
 *
 * Changes of files are fetched with a delay, since they come in bursts (fleet/bus/mirror.h); a run
 * in between would still see the old files. So it has them fetched at once, waits until settings
 * are resolved with them, and continues with the present files after CATCHUP_MAX.
 *
 *     catchup_begin -> false -> catchup_check... -> `fn`
 *
 * Memory: its parts are borrowed. Threads: the loop's.
 */
#ifndef FLEET_PEEL_CATCHUP_H
#define FLEET_PEEL_CATCHUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/sys/loop.h"

struct mirror;
struct peel_settings;

/* Maximum wait of a run for files. */
#define CATCHUP_MAX (INT64_C(15) * 1000000000)

struct catchup {
    struct loop *loop;
    struct mirror *states, *settings;
    const struct peel_settings *peel_settings;
    void (*fn)(void *self);
    void *self;
    struct timer timer; /* set while it waits */
};

/* True: nothing to wait for. False: `fn` follows. */
bool catchup_begin(struct catchup *catchup);
/* A mirror or the settings have finished a step. */
void catchup_check(struct catchup *catchup);
/* `fn` does not follow. */
void catchup_stop(struct catchup *catchup);

#endif
