/*
 * fleet_peels - the machines of a fleet: their facts, last heartbeat, and last run.
 *
 *     fleet_peels_take_facts... -> fleet_peels_take_beat... -> fleet_peels_take_presence...
 *     -> fleet_peels_end -> fleet_peel_value
 *
 * Reads facts, heartbeats and presence records, one pass over each bucket. Peels write the first
 * two: texts are cut to FLEET_PEEL_TEXT_MAX and must be escaped for display.
 *
 * Memory: the arena. Threads: one.
 */
#ifndef FLEET_VIEW_PEELS_H
#define FLEET_VIEW_PEELS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/map.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "states/run/drift.h"
#include "fleet/wire/liveness.h"
#include "states/run/lastrun.h"

struct arena;
struct nats_kv_entry;
struct value;

/* An older heartbeat does not count. */
#define FLEET_PEEL_ONLINE_NS (INT64_C(60) * 1000000000)
#define FLEET_PEEL_TEXT_MAX  64

struct fleet_peel {
    const char *id;        /* as on the wire */
    const char *name;      /* as people write it */
    const char *os, *arch; /* "-": not known */
    const char *version;   /* of the agent; "": not known */
    int64_t seen;          /* its heartbeat: wall time in nanoseconds; 0: none */
    int64_t last_seen;     /* the same, even long ago; 0: not known */
    bool has_run;          /* `run` is known */
    struct lastrun run;
    bool has_trees; /* `trees` is known */
    struct liveness_trees trees;
};

struct fleet_peels {
    struct arena *arena;
    struct map by_id; /* struct fleet_peel */
    VEC(struct fleet_peel *) list;
};

#define FLEET_PEELS_INIT(arena_)                                                                   \
    {                                                                                              \
        .arena = (arena_), .by_id = MAP_INIT_IN(arena_)                                            \
    }

/* The peel with this valid id, created if needed. */
struct fleet_peel *fleet_peels_add(struct fleet_peels *peels, struct str id);
/* One entry of the buckets; malformed ones are ignored. True: a heartbeat with a new run. */
void fleet_peels_take_facts(struct fleet_peels *peels, const struct nats_kv_entry *entry);
/* The same for parsed facts; the id must be valid. */
void fleet_peels_note_facts(struct fleet_peels *peels, struct str id, const struct value *facts);
bool fleet_peels_take_beat(struct fleet_peels *peels, const struct nats_kv_entry *entry);
void fleet_peels_take_presence(struct fleet_peels *peels, const struct nats_kv_entry *entry);
/* A peel of another list, with copies of its texts. */
void fleet_peels_copy(struct fleet_peels *peels, const struct fleet_peel *from);
/* Copy the summary of a run. */
void fleet_peels_keep_run(struct fleet_peels *peels, struct fleet_peel *peel,
                          const struct lastrun *run);
/* A run from a return, which replaces an older one from the heartbeat. An older run only sets when
 * the machine converged, if that is not known. */
void fleet_peels_offer_run(struct fleet_peels *peels, struct fleet_peel *peel,
                           const struct lastrun *run);
/* Sorts by name. */
void fleet_peels_sort(struct fleet_peels *peels);

/* After the last entry: sorts them. */
void fleet_peels_end(struct fleet_peels *peels);

bool fleet_peel_is_online(const struct fleet_peel *peel, int64_t now);

enum drift fleet_peel_drift(const struct fleet_peel *peel);
const char *fleet_peel_describe_drift(struct arena *arena, const struct fleet_peel *peel);

/* All details, for programs. `now` is wall time in nanoseconds. */
struct value fleet_peel_value(struct arena *arena, const struct fleet_peel *peel, int64_t now);

#endif
