/*
 * roster - the peels and masters that there are: facts, signs of life, and who a target means.
 *
 * Fed by watches on the buckets of facts and heartbeats. A peel is known once it has published
 * facts, whether it is connected or not. Until everything that was there has been read, the roster
 * is not seeded, and an answer about targets could lack somebody.
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

/* A peel writes every 10 s; three missed are too many. */
#define ROSTER_PEEL_SILENCE_NS (INT64_C(30) * 1000000000)
/* Of the facts of a peel; larger ones are refused and reported. */
#define ROSTER_FACTS_MAX ((size_t)STORE_FACTS_MAX)
/* How often facts of one peel are read: so many at once, and so many a minute. Others are dropped,
 * until the next ones. */
#define ROSTER_FACTS_BURST      60
#define ROSTER_FACTS_PER_MINUTE 60

struct roster_options {
    const char *master_id; /* of this master; borrowed */
    /* The facts of a peel came or changed, or went (NULL); may be NULL. */
    void (*on_facts)(void *self, struct str peel, const struct value *facts);
    /* A peel wrote facts of that many bytes; and they are not used. May be NULL. */
    void (*wrote)(void *self, struct str peel, size_t bytes);
    void (*dropped)(void *self, struct str peel);
    void *self;
};

struct roster *roster_new(const struct nats_js *js, const struct roster_options *options,
                          struct err *err);
/* NULL is fine. */
void roster_free(struct roster *roster);

/* All facts that were there have been read; also the signs of life. */
bool roster_is_seeded(const struct roster *roster);
size_t roster_count(const struct roster *roster);
size_t roster_online_count(const struct roster *roster);
bool roster_is_online(const struct roster *roster, struct str peel);
/* When it was last heard (clock_now); 0: never. */
int64_t roster_seen(const struct roster *roster, struct str peel);
/* Each peel with facts, and when it was last heard (clock_now; 0: never). */
void roster_each(const struct roster *roster, void (*fn)(void *self, struct str peel, int64_t seen),
                 void *self);
/* Of another master, by fleet/jobs/vigil.h. Before all signs of life were read, everybody lives. */
bool roster_master_lives(const struct roster *roster, struct str master_id);
/* For our sign of life: since when the bucket has had no gap, in nanoseconds since 1970; 0: not
 * known. */
int64_t roster_beats_since(const struct roster *roster);
/* How often other masters may have thought that this one is gone. */
uint64_t roster_doubts(const struct roster *roster);
/* NULL: not known. */
const struct value *roster_facts(const struct roster *roster, struct str peel);

/* For I@ and J@: borrowed until others are put, or the facts of the peel go. NULL: not known. */
void roster_put_settings(struct roster *roster, struct str peel, const struct value *settings);

/* Which peels? `type` is the name of a kind of target, or ""; `groups` may be NULL. */
struct roster_question {
    const char *expr, *type;
    const struct value *groups;
    int64_t time;       /* nanoseconds that it may take; 0: any */
    bool with_settings; /* the roster has them (fleet/master/settings/settings_cache.h); else I@ is
                           a mistake */
};
/* Does it ask for settings? False for one that cannot be read. */
bool roster_needs_settings(const struct roster_question *question);
/* Sorted. Fails with ERR_INVALID and all mistakes of the expression in the text, and with ERR_BUSY
 * when it takes longer than it may. */
int roster_resolve(const struct roster *roster, struct arena *arena,
                   const struct roster_question *question, struct param_strs *ret_peels,
                   struct err *err);

#endif
