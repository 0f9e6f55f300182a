/*
 * roster - all known peels and masters: facts, heartbeats, and target resolution.
 *
 * Fed by watches on the buckets of facts and heartbeats. A peel is known once it has published
 * facts, connected or not. Until all existing entries have been read, the roster is not seeded, and
 * target answers may be incomplete.
 *
 *     roster_new -> { roster_resolve, roster_is_online, ... } -> roster_free
 *
 * Memory: values it returns are valid until the loop turns. Threads: the loop's.
 */
#ifndef FLEET_MASTER_PEELS_ROSTER_H
#define FLEET_MASTER_PEELS_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"
#include "fleet/bus/store.h"
#include "core/data/params.h"

struct arena;
struct err;
struct nats_js;
struct roster;
struct value;

/* A peel writes every 10 s; three missed heartbeats mean offline. */
#define ROSTER_PEEL_SILENCE_NS (INT64_C(30) * 1000000000)
/* Maximum size of a peel's facts; larger ones are refused and reported. */
#define ROSTER_FACTS_MAX ((size_t)STORE_FACTS_MAX)
/* Rate limit for reading facts of one peel: burst, and per minute. Further ones are skipped, until
 * the next update. */
#define ROSTER_FACTS_BURST      60
#define ROSTER_FACTS_PER_MINUTE 60

struct roster_options {
    const char *master_id; /* of this master; borrowed */
    /* Facts of a peel were added, changed or removed (NULL); may be NULL. */
    void (*on_facts)(void *self, struct str peel, const struct value *facts);
    /* A peel wrote facts of that many bytes; and they were refused. May be NULL. */
    void (*wrote)(void *self, struct str peel, size_t bytes);
    void (*dropped)(void *self, struct str peel);
    void *self;
};

struct roster *roster_new(const struct nats_js *js, const struct roster_options *options,
                          struct err *err);
/* NULL is fine. */
void roster_free(struct roster *roster);

/* Have all existing facts and heartbeats been read? */
bool roster_is_seeded(const struct roster *roster);
size_t roster_count(const struct roster *roster);
size_t roster_online_count(const struct roster *roster);
bool roster_is_online(const struct roster *roster, struct str peel);
/* When it was last seen (clock_now); 0: never. */
int64_t roster_seen(const struct roster *roster, struct str peel);
/* Each peel with facts, and when it was last seen (clock_now; 0: never). */
void roster_each(const struct roster *roster, void (*fn)(void *self, struct str peel, int64_t seen),
                 void *self);
/* A peel that cannot use published trees, and why. */
struct roster_problem {
    const char *peel, *text;
};
/* How many online peels say so, and the first of them by name. */
size_t roster_problems(const struct roster *roster, struct roster_problem *ret_first);
/* Is another master alive, by fleet/jobs/heartbeat_monitor.h? True until all heartbeats were read.
 */
bool roster_master_lives(const struct roster *roster, struct str master_id);
/* For our heartbeat: since when the bucket has had no gap, in nanoseconds since 1970; 0:
 * unknown. */
int64_t roster_beats_since(const struct roster *roster);
/* How often other masters may have considered this one gone. */
uint64_t roster_doubts(const struct roster *roster);
/* NULL: not known. */
const struct value *roster_facts(const struct roster *roster, struct str peel);

/* Set the settings of a peel, for I@ and J@: borrowed until replaced, or until its facts are
 * removed. NULL: unknown. */
void roster_put_settings(struct roster *roster, struct str peel, const struct value *settings);

/* A target to resolve. `type` is the name of a target kind, or ""; `groups` may be NULL. */
struct roster_question {
    const char *expr, *type;
    const struct value *groups;
    int64_t time;       /* time limit in nanoseconds; 0: none */
    bool with_settings; /* the roster has settings (fleet/master/settings/settings_cache.h);
                           otherwise I@ is an error */
};
/* Does the target need settings? False when malformed. */
bool roster_needs_settings(const struct roster_question *question);
/* Returns sorted ids. Fails with ERR_INVALID and all mistakes in the expression, or with ERR_BUSY
 * after the time limit. */
int roster_resolve(const struct roster *roster, struct arena *arena,
                   const struct roster_question *question, struct param_strs *ret_peels,
                   struct err *err);

#endif
