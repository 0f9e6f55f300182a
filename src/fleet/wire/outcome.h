/*
 * outcome - the record of an event: which rules fired, and what each did.
 *
 * A master stores one for each event that matched a rule or was dropped, under the event's id.
 * `parent` and `made` link cause and effect in both directions.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_OUTCOME_H
#define FLEET_WIRE_OUTCOME_H

#include "core/base/sha256.h"
#include "core/base/vec.h"
#include "core/data/record.h"

/* Result of a reaction or one of its blocks; the label of metrics. */
enum outcome_result {
    OUTCOME_DISPATCHED,
    OUTCOME_DUPLICATE,
    OUTCOME_THROTTLED,
    OUTCOME_BREAKER_OPEN,
    OUTCOME_RENDER_ERROR,
    OUTCOME_VALIDATE_ERROR,
    OUTCOME_ABORTED,
    OUTCOME_REFUSED,
    OUTCOME_NO_TARGETS,
    OUTCOME_ERROR,
    OUTCOME_EMPTY, /* the file rendered to nothing */
};
#define OUTCOME_RESULTS (OUTCOME_EMPTY + 1)
const char *outcome_result_name(enum outcome_result result);

enum outcome_kind {
    OUTCOME_FIRED, /* rules matched */
    OUTCOME_UNMATCHED,
    OUTCOME_DROPPED,
    OUTCOME_EXHAUSTED, /* failed at every delivery */
};
#define OUTCOME_KINDS (OUTCOME_EXHAUSTED + 1)
const char *outcome_kind_name(enum outcome_kind kind);

#define OUTCOME_WHAT_MAX 256

struct outcome_block {
    const char *block, *action;
    enum outcome_result result;
    const char *message; /* the reason; "": none */
    const char *made;    /* the id of a job or event; "": none */
    const char *what;    /* the action in a line, up to OUTCOME_WHAT_MAX bytes */
};
extern const struct record_type outcome_block_type;

struct outcome_blocks {
    VEC(struct outcome_block) list;
};

struct outcome_rule {
    const char *rule, *pattern;
    enum outcome_result result;
    const char *message;
    struct outcome_blocks blocks; /* empty: the file was not read */
};
extern const struct record_type outcome_rule_type;

struct outcome_rules {
    VEC(struct outcome_rule) list;
};

/* Reason of an EXHAUSTED that is recorded before the last delivery is processed. Its result
 * replaces the record, unless the master stops first. */
#define OUTCOME_LAST_DELIVERY "last delivery"
/* Reason for an event that the server stopped delivering without an acknowledgement. */
#define OUTCOME_UNACCOUNTED "not acknowledged by any master"

struct outcome {
    const char *id;
    enum outcome_kind outcome;
    const char *reason; /* of a drop; OUTCOME_LAST_DELIVERY; "": none */
    const char *key;    /* <origin>/<tag> */
    struct outcome_rules rules;
    int32_t depth;
    const char *provenance; /* "reaction:<rule>"; "": organic */
    const char *parent;     /* the id of the event that caused it; "": not known */
    struct value_time ts;   /* when it was decided */
    const char *master;
    int32_t deliveries;
    uint64_t seq; /* its place in the stream of events; 0: not known */
};
extern const struct record_type outcome_type;

/* Is nothing left to do? False after a temporary failure. */
bool outcome_is_settled(const struct outcome *outcome);

/* Its key in the bucket: the id of the event, or a hash of an id that cannot be a key. */
#define OUTCOME_KEY_SIZE SHA256_HEX_SIZE
void outcome_key(const char *event_id, char key[static OUTCOME_KEY_SIZE]);

#endif
