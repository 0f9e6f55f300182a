/*
 * usage - how much each peel writes to the bus, and who writes more than its share.
 *
 * Bytes are counted over a minute, for each peel and place. A place is a stream or bucket in which
 * one peel could take the room of all: the server limits the whole, not who fills it.
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
/* Of the room of a place: what is a share, and what is a flood. */
#define USAGE_SHARES 8
#define USAGE_FLOODS 2
/* However little room there is. */
#define USAGE_SHARE_MIN ((int64_t)4 << 20)
#define USAGE_FLOOD_MIN ((int64_t)32 << 20)

enum usage_verdict { USAGE_FINE, USAGE_OVER, USAGE_FLOOD };

/* A peel that has written something in this minute. */
struct usage_peel {
    int64_t bytes[USAGE_PLACES];
    enum usage_verdict told[USAGE_PLACES]; /* the worst so far */
    bool is_new[USAGE_PLACES];             /* it wrote more since usage_each */
    char id[];
};

struct usage {
    int64_t room[USAGE_PLACES]; /* 0: not known yet, nobody is over */
    int64_t since;
    struct map peels; /* struct usage_peel */
};

void usage_done(struct usage *usage);
void usage_set_room(struct usage *usage, enum usage_place place, int64_t max_bytes);
void usage_add(struct usage *usage, enum usage_place place, struct str peel, int64_t bytes,
               int64_t now);
/* It holds more than it may, whatever it has written: from here on it is over its share. */
void usage_exceed(struct usage *usage, enum usage_place place, struct str peel, int64_t now);

/* Who sees what peels write tells it here. */
struct usage_meter {
    void (*wrote)(struct usage_meter *meter, enum usage_place place, struct str peel, size_t bytes);
    /* It holds more than it may: the rest was not taken. */
    void (*exceeded)(struct usage_meter *meter, enum usage_place place, struct str peel);
};

/* `first`: it was not as bad in this minute before. */
typedef void usage_fn(void *self, const struct usage_peel *peel, enum usage_verdict verdict,
                      bool first);
void usage_each(struct usage *usage, enum usage_place place, usage_fn *fn, void *self);

#endif
