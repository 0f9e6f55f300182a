/*
 * outcome - what became of an event: which rules fired, and what each of them did.
 *
 * A master keeps one for each event that matched a rule or was dropped, under the event's id. With
 * `parent` and `made` it is a chain that can be walked both ways: what caused an event, and what it
 * caused.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_OUTCOME_H
#define FLEET_WIRE_OUTCOME_H

#include "core/base/sha256.h"
#include "core/base/vec.h"
#include "core/data/record.h"

/* What came of a reaction, or of a block of it: the label of metrics. */
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
    OUTCOME_EXHAUSTED, /* it failed as often as the server delivers */
};
#define OUTCOME_KINDS (OUTCOME_EXHAUSTED + 1)
const char *outcome_kind_name(enum outcome_kind kind);

#define OUTCOME_WHAT_MAX 256

struct outcome_block {
    const char *block, *action;
    enum outcome_result result;
    const char *message; /* why; "": nothing to say */
    const char *made;    /* the id of a job or event; "": none */
    const char *what;    /* the action in a line, as far as OUTCOME_WHAT_MAX bytes go */
};
extern const struct record_type outcome_block_type;

struct outcome_blocks {
    VEC(struct outcome_block) list;
};

struct outcome_rule {
    const char *rule, *pattern;
    enum outcome_result result;
    const char *message;
    struct outcome_blocks blocks; /* none when the file was not read */
};
extern const struct record_type outcome_rule_type;

struct outcome_rules {
    VEC(struct outcome_rule) list;
};

/* The reason of an EXHAUSTED that is recorded before the last delivery is acted on: what comes of
 * it replaces the record, unless the master ends before. */
#define OUTCOME_LAST_DELIVERY "last delivery"
/* And of one that the server no longer delivers although no master has acknowledged it. */
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
    uint64_t seq; /* where the stream of events has it; 0: not known */
};
extern const struct record_type outcome_type;

/* Is there nothing left to do about it? Not after a failure that may pass. */
bool outcome_is_settled(const struct outcome *outcome);

/* Its key in the bucket: the id of the event, or a hash of an id that cannot be a key. */
#define OUTCOME_KEY_SIZE SHA256_HEX_SIZE
void outcome_key(const char *event_id, char key[static OUTCOME_KEY_SIZE]);

#endif
