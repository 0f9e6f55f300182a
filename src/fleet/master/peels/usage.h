/*
 * usage - counts what each peel writes to the bus, and finds peels over their share.
 *
 * Bytes are counted per minute, peel and place. A place is a stream or bucket that one peel could
 * fill: the server limits only the total.
 *
 *     usage_set_room(&usage, USAGE_EVENTS, max_bytes);
 *     usage_add(&usage, USAGE_EVENTS, peel, bytes, now);
 *     usage_each(&usage, USAGE_EVENTS, fn, self);      those over their share, since the last time
 *
 * Pure: time is handed in. Memory: usage_done frees. Threads: one.
 */
#ifndef FLEET_MASTER_PEELS_USAGE_H
#define FLEET_MASTER_PEELS_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/str.h"

enum usage_place { USAGE_EVENTS, USAGE_JOB_EVENTS, USAGE_BASKET, USAGE_FACTS };
#define USAGE_PLACES (USAGE_FACTS + 1)

#define USAGE_WINDOW_NS (INT64_C(60) * 1000000000)
/* Shares of a place: what a peel may use, and what is a flood. */
#define USAGE_SHARES 8
#define USAGE_FLOODS 2
/* Minimum, even for a small place. */
#define USAGE_SHARE_MIN ((int64_t)4 << 20)
#define USAGE_FLOOD_MIN ((int64_t)32 << 20)

enum usage_verdict { USAGE_FINE, USAGE_OVER, USAGE_FLOOD };

/* A peel that has written in this minute. */
struct usage_peel {
    int64_t bytes[USAGE_PLACES];
    enum usage_verdict reported[USAGE_PLACES]; /* worst verdict reported so far */
    bool is_new[USAGE_PLACES];                 /* more written since usage_each */
    char id[];
};

struct usage {
    int64_t room[USAGE_PLACES]; /* capacity; 0: unknown, no limit */
    int64_t since;
    struct map peels; /* struct usage_peel */
};

void usage_done(struct usage *usage);
void usage_set_room(struct usage *usage, enum usage_place place, int64_t max_bytes);
void usage_add(struct usage *usage, enum usage_place place, struct str peel, int64_t bytes,
               int64_t now);
/* It stores more than allowed, regardless of its writes: treat it as over its share. */
void usage_exceed(struct usage *usage, enum usage_place place, struct str peel, int64_t now);

/* Observers of peel writes report here. */
struct usage_meter {
    void (*wrote)(struct usage_meter *meter, enum usage_place place, struct str peel, size_t bytes);
    /* It exceeded a limit; the rest was refused. */
    void (*exceeded)(struct usage_meter *meter, enum usage_place place, struct str peel);
};

/* `first`: the worst verdict in this minute so far. */
typedef void usage_fn(void *self, const struct usage_peel *peel, enum usage_verdict verdict,
                      bool first);
void usage_each(struct usage *usage, enum usage_place place, usage_fn *fn, void *self);

#endif
