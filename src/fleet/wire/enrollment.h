/*
 * enrollment - the record of how a machine becomes a peel, and its state transitions.
 *
 *     pending -> approved | rejected;  approved -> issued | revoked;  issued -> active | revoked;
 *     active -> revoked
 *
 * Rejected and revoked are final; enrolling again makes a new record.
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_ENROLLMENT_H
#define FLEET_WIRE_ENROLLMENT_H

#include <stdbool.h>

#include "core/data/record.h"

struct err;

enum enrollment_state {
    ENROLLMENT_PENDING,
    ENROLLMENT_APPROVED,
    ENROLLMENT_REJECTED,
    ENROLLMENT_ISSUED,
    ENROLLMENT_ACTIVE,
    ENROLLMENT_REVOKED,
};
#define ENROLLMENT_STATES (ENROLLMENT_REVOKED + 1)

const char *enrollment_state_name(enum enrollment_state state);
/* False: the word is not a state. */
bool enrollment_state_find(struct str word, enum enrollment_state *ret_state);
bool enrollment_may_follow(enum enrollment_state from, enum enrollment_state to);
bool enrollment_state_is_final(enum enrollment_state state);

struct enrollment {
    const char *id, *peel_id;
    const char *public_key, *curve_public_key;
    enum enrollment_state state;
    const char *hostname;
    struct value metadata; /* a map of texts; null: none */
    struct value_time created_at, updated_at;
    const char *decided_by;
    struct value_time decided_at;
    const char *reject_reason;
    struct value_time issued_at, expires_at;
    const char *remote_addr;
    const char *trusted_ca_spki; /* the pin that the machine trusts, signed by its key */
    bool trust_mismatch;         /* it is not ours: possible man in the middle */
    bool trust_checked;
    const char *issuer;  /* the signing key that issued the credentials; "": the account itself */
    const char *sponsor; /* its join token, "token:<id>"; "": none */
    struct value_time issue_after; /* of earlier credentials of the same key, issued or revoked */
};
extern const struct record_type enrollment_type;
/* Revoking it invalidates all credentials of its key that were issued up to this time (seconds
 * since 1970). The result covers every issue, however far the clocks of masters differ. */
int64_t enrollment_revoked_until(const struct enrollment *record);
/* Is `later` the same approval or issue as `earlier`, or does it follow from it? Both are compared
 * by their times. */
bool enrollment_stems_from(const struct enrollment *later, const struct enrollment *earlier);

/* A challenge that only the key's holder can answer, once and within a few minutes. */
struct enrollment_challenge {
    const char *challenge_id;
    struct str challenge; /* 32 random bytes */
    const char *peel_id, *public_key;
    struct value_time issued_at, expires_at;
    bool used;
};
extern const struct record_type enrollment_challenge_type;

/* Key in the bucket of enrollments that pauses new enrollments. */
#define ENROLLMENT_PAUSE_KEY  "pause"
#define ENROLLMENT_REASON_MAX 1024
struct enrollment_pause {
    bool is_paused;
    const char *operator_name, *reason;
    struct value_time changed_at;
};
extern const struct record_type enrollment_pause_type;

/* An operator's decision, and the answer. */
/* Decided by the limits: a master revoked a peel that writes too much. */
#define ENROLLMENT_BY_LIMITS "limits"

struct enrollment_request {
    const char *id, *operator_name, *reason;
    bool force;
};
extern const struct record_type enrollment_request_type;

struct enrollment_reply {
    struct value record; /* an enrollment; null: none */
    const char *err, *warning;
};
extern const struct record_type enrollment_reply_type;

#endif
