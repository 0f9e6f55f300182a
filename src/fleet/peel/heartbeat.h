/*
 * heartbeat - the sign of life of an agent: a key of a bucket that forgets what is not renewed.
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
#include "fleet/nats/js.h"
#include "core/sys/loop.h"

#define HEARTBEAT_BEAT (INT64_C(10) * 1000000000)
/* Three beats that nobody heard. */
#define HEARTBEAT_LOST (3 * HEARTBEAT_BEAT)

struct heartbeat {
    struct loop *loop;
    const char *peel_id, *data_dir;
    struct nats_js js;
    struct timer timer;
    int64_t heard; /* the last beat that the bucket took; 0: none */
    struct heartbeat_beat *under_way;
    struct buf outcome; /* of the run that the last beat told of */
};

/* Keeps the texts; each beat carries what the last run in the data folder came to. */
void heartbeat_init(struct heartbeat *heartbeat, struct loop *loop, const char *peel_id,
                    const char *data_dir);
void heartbeat_done(struct heartbeat *heartbeat);
/* Beat over this connection, from now on; NULL: none. */
void heartbeat_connect(struct heartbeat *heartbeat, const struct nats_js *js);
/* A run has ended, and was kept (lastrun_print_outcome): beat at once when it came to something
 * else than the one before; else the next beat is soon enough. */
void heartbeat_tell_run(struct heartbeat *heartbeat, struct str outcome);
/* Did the bucket take one lately? */
bool heartbeat_is_heard(const struct heartbeat *heartbeat);

#endif
