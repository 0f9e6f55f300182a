/*
 * question - what the command line and peels ask masters: who is meant, which rules would fire.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_QUESTION_H
#define FLEET_WIRE_QUESTION_H

#include <stdbool.h>

#include "core/base/vec.h"
#include "core/data/params.h"
#include "core/data/record.h"

/* Which peels does a target mean? */
struct question_resolve {
    const char *expr, *type;
    const char *basket; /* also what they share under this name; "": nothing */
    const char *scope;  /* a second expression that they match, too; "": none */
};
extern const struct record_type question_resolve_type;

struct question_resolved {
    struct param_strs peels;
    struct value basket; /* by peel; those that share nothing are missing; null: not asked for */
    const char *err;
    bool invalid;        /* the question is wrong: asking again does not help */
    bool pending;        /* this master needs more time: ask again */
    const char *warning; /* for whoever asks; "": none */
};
extern const struct record_type question_resolved_type;

/* What peels share, from an answer: a map of ids as people write them to values. Fails with
 * ERR_INVALID, also with the error of the answer. */
int question_shared(struct arena *arena, struct str answer, struct value *ret, struct err *err);

/* Which settings does a peel get? */
struct question_settings {
    const char *peel;
    const char *by; /* who asks, for the audit */
};
extern const struct record_type question_settings_type;

struct question_shown {
    struct value settings; /* secrets are hidden; null: see err */
    const char *err;
};
extern const struct record_type question_shown_type;

/* Send the event again that was given up. */
struct question_retry {
    const char *id;
    const char *operator; /* who asks, for the audit */
};
extern const struct record_type question_retry_type;

struct question_retried {
    const char *key, *err;
    uint64_t seq; /* of the event that was stored */
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
