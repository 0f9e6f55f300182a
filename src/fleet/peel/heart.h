/*
 * heart - the sign of life of an agent: a key of a bucket that forgets what is not renewed.
 *
 *     heart_init -> heart_connect... -> heart_done
 *
 * Memory: lives in its owner's struct. Threads: the loop's.
 */
#ifndef FLEET_PEEL_HEART_H
#define FLEET_PEEL_HEART_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "fleet/nats/js.h"
#include "core/sys/loop.h"

#define HEART_BEAT (INT64_C(10) * 1000000000)
/* Three beats that nobody heard. */
#define HEART_LOST (3 * HEART_BEAT)

struct heart {
    struct loop *loop;
    const char *peel_id, *data_dir;
    struct nats_js js;
    struct timer timer;
    int64_t heard; /* the last beat that the bucket took; 0: none */
    struct heart_beat *under_way;
    struct buf outcome; /* of the run that the last beat told of */
};

/* Keeps the texts; each beat carries what the last run in the data folder came to. */
void heart_init(struct heart *heart, struct loop *loop, const char *peel_id, const char *data_dir);
void heart_done(struct heart *heart);
/* Beat over this connection, from now on; NULL: none. */
void heart_connect(struct heart *heart, const struct nats_js *js);
/* A run has ended, and was kept (lastrun_print_outcome): beat at once when it came to something
 * else than the one before; else the next beat is soon enough. */
void heart_tell_run(struct heart *heart, struct str outcome);
/* Did the bucket take one lately? */
bool heart_is_heard(const struct heart *heart);

#endif
