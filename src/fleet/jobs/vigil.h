/*
 * vigil - which other masters are gone, by the signs of life that all of them write to one log.
 *
 * Silence alone proves nothing: while the log has no leader, or its messages do not come, nobody is
 * heard. So silence is measured by our own signs of life, which take the same way: a master is gone
 * when so many of ours have come back since its last one, over a time that is long enough. While
 * the log stands still, so does the vigil.
 *
 * A master that has just started has not listened for long. So each sign of life says since when
 * the log has taken signs without a gap, as its writer knows from the one before: when that is long
 * enough, it counts as if we had listened.
 *
 * For the same reason others may think that we are gone when ours did not come back for long. That
 * is a doubt: what others may have taken over meanwhile has to be looked at.
 *
 *     vigil_init -> { vigil_note, vigil_part, vigil_is_gone }... -> vigil_done
 *
 * Pure: times are handed in, of a clock that only rises. Memory: ids are copied. Threads: one at a
 * time.
 */
#ifndef FLEET_JOBS_VIGIL_H
#define FLEET_JOBS_VIGIL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/str.h"

/* Of our own signs since the last one of another, and the time between them. */
#define VIGIL_BEATS      4
#define VIGIL_SILENCE_NS (INT64_C(15) * 1000000000)
/* Those that come at once, because they were held up, count as one. */
#define VIGIL_APART_NS (INT64_C(4) * 1000000000)
/* Our own did not come back for so long: shorter than the silence, so that we doubt in time. */
#define VIGIL_DOUBT_NS (INT64_C(10) * 1000000000)
/* Signs of life with no more time between them are without a gap; and how long that must last. */
#define VIGIL_GAP_NS    (INT64_C(7) * 1000000000)
#define VIGIL_STEADY_NS (INT64_C(20) * 1000000000)
/* Whoever is gone is forgotten after this. */
#define VIGIL_MEMORY_NS (4 * VIGIL_SILENCE_NS)

struct vigil {
    const char *self_id; /* borrowed */
    struct map others;   /* struct vigil_other by id */
    uint64_t beats;      /* of our own, that count */
    int64_t first, last; /* when those came */
    int64_t heard;       /* when the last one came, whether it counts or not */
    uint64_t doubts;     /* how often there was one */
    /* The log, by its own clock: it has taken signs of life without a gap between these. */
    int64_t log_since, log_last;
    int64_t log_heard; /* by ours, when the last one came; 0: none did */
};

struct vigil_sign {
    struct str id;
    int64_t now;    /* when it came, by our clock */
    int64_t stored; /* when it was stored, by that of the log: nanoseconds since 1970 */
    int64_t since;  /* the log had no gap, says the writer; 0: it does not know */
};

void vigil_init(struct vigil *vigil, const char *self_id);
void vigil_done(struct vigil *vigil);

/* A sign of life has come, of whomever, in the order of the log. */
void vigil_note(struct vigil *vigil, const struct vigil_sign *sign);
/* For the next sign of ours: since when the log has had no gap; 0: not known. */
int64_t vigil_since(const struct vigil *vigil, int64_t now);
/* A master has said that it ends. */
void vigil_part(struct vigil *vigil, struct str id, int64_t now);
/* One that was never heard counts as heard just before our first sign of life, unless the log had
 * no gap for long. */
bool vigil_is_gone(const struct vigil *vigil, struct str id);

#endif
