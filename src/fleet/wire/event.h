/*
 * event - something that happened, and its source.
 *
 * The subject names the source: the server lets a peel publish below its own name only. The tag in
 * the payload must be the one of the subject. Tags have slashes for people and dots on subjects;
 * the mapping is one to one, since a segment has letters, digits, '_' and '-' only.
 *
 *     zester.event.<peel>.send.<t1>.<t2>   origin <peel>    tag t1/t2
 *     zester.event.<peel>.beacon.<name>    origin <peel>    tag beacon/<peel>/<name>
 *     zester.event._master.<t1>.<t2>       origin _master   tag t1/t2
 *     zester.event._admin.send.<t1>.<t2>   origin _admin    tag t1/t2
 *
 * Rules match the key <origin>/<tag>.
 *
 * Pure. Memory: the arena. Threads: any.
 */
#ifndef FLEET_WIRE_EVENT_H
#define FLEET_WIRE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "core/data/record.h"
#include "fleet/wire/subject.h"

struct arena;
struct buf;
struct err;

#define EVENT_ORIGIN_MASTER "_master"
#define EVENT_ORIGIN_ADMIN  "_admin"
/* Provenance of an event that a rule has sent: this prefix, then the rule's ref. */
#define EVENT_PROVENANCE "reaction:"
/* Bytes of a tag. */
#define EVENT_TAG_MAX 512

struct event {
    const char *id, *tag;
    struct value data; /* a map; null: none */
    struct value_time ts;
    int32_t v;
    const char *origin; /* provenance; "": organic */
    int32_t depth;
};
extern const struct record_type event_type;

enum event_origin { EVENT_FROM_PEEL, EVENT_FROM_MASTER, EVENT_FROM_ADMIN };
#define EVENT_ORIGINS (EVENT_FROM_ADMIN + 1)
/* "peel", "master", "admin": the label of metrics. */
const char *event_origin_name(enum event_origin origin);

struct event_source {
    enum event_origin type;
    const char *origin; /* "web-01", "_master", "_admin" */
    const char *tag;    /* with slashes */
    const char *key;    /* origin/tag */
};
/* False: the subject has none of the four forms above. */
bool event_parse_subject(struct arena *arena, struct str subject, struct event_source *ret_source);

bool event_tag_is_valid(struct str tag);
/* A tag in slash or dotted form, as the one with slashes. Fails with ERR_INVALID. */
int event_tag_read(struct arena *arena, struct str text, const char **ret_tag, struct err *err);
/* The subject of an event with a slash tag. `peel` is for SUBJECT_EVENT_SEND and
 * SUBJECT_EVENT_BEACON; the tag of a beacon is its name alone. */
int event_print_subject(struct buf *out, enum subject_kind kind, const char *peel, const char *tag,
                        struct err *err);

/* The event for people and other programs: ts, key, origin, tag, id, depth, provenance, data. */
struct value event_describe(struct arena *arena, const struct event_source *source,
                            const struct event *event);

/* --- derived ids --------------------------------------------- */

#define EVENT_JOB_PREFIX "rxn-"
#define EVENT_JID_SIZE   (sizeof(EVENT_JOB_PREFIX) + 32)

/* Job id of a rule's block for an event, the same for every delivery. */
void event_job_id(const char *origin, const char *event_id, const char *rule, const char *block,
                  char jid[static EVENT_JID_SIZE]);
/* Job id of a step of the orchestration `jid`. Each retry of a state is another attempt; the first
 * is 1. */
void event_step_id(const char *jid, const char *state, size_t attempt,
                   char step[static EVENT_JID_SIZE]);
/* Id of the event that a rule's block sends for an event. */
void event_derived_id(const char *event_id, const char *rule, const char *block,
                      char id[static SHA256_HEX_SIZE]);

#endif
