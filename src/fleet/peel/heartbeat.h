/*
 * heartbeat - the heartbeat of an agent: a key in a bucket whose entries expire.
 *
 *     heartbeat_init -> heartbeat_connect... -> heartbeat_done
 *
 * Memory: lives in its owner's struct. Threads: the loop's.
 */
#ifndef FLEET_PEEL_HEARTBEAT_H
#define FLEET_PEEL_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/sys/loop.h"
#include "fleet/nats/js.h"

struct arena;

#define HEARTBEAT_BEAT (INT64_C(10) * 1000000000)
/* Three missed beats. */
#define HEARTBEAT_LOST (3 * HEARTBEAT_BEAT)

struct mirror;
struct peel_settings;

/* The records that say which published trees are in use. */
struct heartbeat_trees {
    const struct mirror *states, *settings;
    const struct peel_settings *peel_settings;
};

struct heartbeat {
    struct loop *loop;
    const char *peel_id, *data_dir;
    struct nats_js js;
    struct timer timer;
    int64_t heard; /* the last stored beat; 0: none */
    struct heartbeat_beat *under_way;
    struct buf outcome; /* of the run in the last beat */
    struct heartbeat_trees trees;
    struct buf told; /* of the trees in the last beat */
};

/* Keeps the texts; each beat carries the outcome of the last run in the data folder. */
void heartbeat_init(struct heartbeat *heartbeat, struct loop *loop, const char *peel_id,
                    const char *data_dir);
void heartbeat_done(struct heartbeat *heartbeat);
/* Sends beats over this connection; NULL: none. */
void heartbeat_connect(struct heartbeat *heartbeat, const struct nats_js *js);
/* A run has ended, with this outcome (lastrun_print_outcome): beats at once if it differs from the
 * previous one. */
void heartbeat_tell_run(struct heartbeat *heartbeat, struct str outcome);
/* Each beat says which trees are in use, and why newer ones are not. */
void heartbeat_show_trees(struct heartbeat *heartbeat, const struct heartbeat_trees *trees);
/* That may have changed: beats soon if so. */
void heartbeat_tell_trees(struct heartbeat *heartbeat);
/* The problem in it, in the arena; "": none. */
const char *heartbeat_problem(const struct heartbeat_trees *trees, struct arena *arena);
/* Was a beat stored recently? */
bool heartbeat_is_heard(const struct heartbeat *heartbeat);

#endif
