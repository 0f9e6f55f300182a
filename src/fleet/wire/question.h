/*
 * question - queries to masters: resolve a target, show settings, test or retry an event.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_QUESTION_H
#define FLEET_WIRE_QUESTION_H

#include <stdbool.h>

#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/record.h"

/* Which peels match a target? */
struct question_resolve {
    const char *expr, *type;
    const char *basket; /* also their basket entry of this name; "": none */
    const char *scope;  /* a second expression that they must match; "": none */
};
extern const struct record_type question_resolve_type;

struct question_resolved {
    struct param_strs peels;
    struct value basket; /* by peel, without those that share nothing; null: not requested */
    const char *err;
    bool invalid;        /* the query is invalid: do not retry */
    bool pending;        /* not ready yet: ask again */
    const char *warning; /* for the caller; "": none */
};
extern const struct record_type question_resolved_type;

/* The basket values in an answer, a map by peel name. Fails with ERR_INVALID, or the answer's
 * error. */
int question_shared(struct arena *arena, struct str answer, struct value *ret, struct err *err);

/* Which settings apply to a peel? */
struct question_settings {
    const char *peel;
    const char *by; /* who asks, for the audit */
};
extern const struct record_type question_settings_type;

struct question_shown {
    struct value settings; /* with secrets hidden; null: see err */
    const char *err;
};
extern const struct record_type question_shown_type;

/* Send an exhausted event again. */
struct question_retry {
    const char *id;
    const char *operator; /* who asks, for the audit */
};
extern const struct record_type question_retry_type;

struct question_retried {
    const char *key, *err;
    uint64_t seq; /* of the new event */
};
extern const struct record_type question_retried_type;

/* Which rules would fire for a key, and what would they do? */
struct question_test {
    const char *key;
    struct value data; /* a map; null: none */
};
extern const struct record_type question_test_type;

struct question_match {
    const char *rule;
    struct param_strs actions, errors;
};
extern const struct record_type question_match_type;

struct question_matches {
    VEC(struct question_match) list;
};

struct question_tested {
    struct question_matches matched;
    const char *err;
};
extern const struct record_type question_tested_type;

#endif
