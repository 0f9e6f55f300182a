#include "fleet/wire/enrollment.h"

#include <string.h>

#include "core/base/mem.h"

#define TO(state) (1U << (unsigned)(state))

static const char *const names[ENROLLMENT_STATES] = {
    [ENROLLMENT_PENDING] = "pending",   [ENROLLMENT_APPROVED] = "approved",
    [ENROLLMENT_REJECTED] = "rejected", [ENROLLMENT_ISSUED] = "issued",
    [ENROLLMENT_ACTIVE] = "active",     [ENROLLMENT_REVOKED] = "revoked",
};

/* Possible next states; none: final. */
static const unsigned following[ENROLLMENT_STATES] = {
    [ENROLLMENT_PENDING] = TO(ENROLLMENT_APPROVED) | TO(ENROLLMENT_REJECTED),
    [ENROLLMENT_APPROVED] = TO(ENROLLMENT_ISSUED) | TO(ENROLLMENT_REVOKED),
    [ENROLLMENT_ISSUED] = TO(ENROLLMENT_ACTIVE) | TO(ENROLLMENT_REVOKED),
    [ENROLLMENT_ACTIVE] = TO(ENROLLMENT_REVOKED),
};

const char *enrollment_state_name(enum enrollment_state state)
{
    return names[state];
}

bool enrollment_state_find(struct str word, enum enrollment_state *ret_state)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(word, names[i])) {
            *ret_state = (enum enrollment_state)i;
            return true;
        }
    return false;
}

bool enrollment_may_follow(enum enrollment_state from, enum enrollment_state to)
{
    return (following[from] & TO(to)) != 0;
}

static bool is_same_time(struct value_time a, struct value_time b)
{
    return a.seconds == b.seconds && a.nanoseconds == b.nanoseconds;
}

bool enrollment_stems_from(const struct enrollment *later, const struct enrollment *earlier)
{
    const enum enrollment_state now = later->state;

    if (strcmp(later->id, earlier->id) != 0)
        return false;
    if (earlier->state == ENROLLMENT_APPROVED)
        return is_same_time(later->decided_at, earlier->decided_at) &&
               (now == ENROLLMENT_APPROVED || now == ENROLLMENT_ISSUED || now == ENROLLMENT_ACTIVE);
    return earlier->state == ENROLLMENT_ISSUED &&
           is_same_time(later->issued_at, earlier->issued_at) &&
           (now == ENROLLMENT_ISSUED || now == ENROLLMENT_ACTIVE);
}

int64_t enrollment_revoked_until(const struct enrollment *record)
{
    const int64_t times[] = { record->decided_at.seconds, record->issued_at.seconds,
                              record->issue_after.seconds };
    int64_t last = 0;

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        if (times[i] > last)
            last = times[i];
    return last;
}

bool enrollment_state_is_final(enum enrollment_state state)
{
    return following[state] == 0;
}

/* clang-format off */

static const struct record_field record_fields[] = {
    RECORD("id",               TEXT, struct enrollment, id, 0, .fallback_text = ""),
    RECORD("peel_id",          TEXT, struct enrollment, peel_id, 0, .fallback_text = ""),
    RECORD("public_key",       TEXT, struct enrollment, public_key, 0, .fallback_text = ""),
    RECORD("curve_public_key", TEXT, struct enrollment, curve_public_key, 0, .fallback_text = ""),
    RECORD("state",            WORD, struct enrollment, state, 0, RECORD_WORDS(names)),
    RECORD("hostname",         TEXT, struct enrollment, hostname, RECORD_OMIT, .fallback_text = ""),
    RECORD("metadata",         MAP,  struct enrollment, metadata, RECORD_OMIT),
    RECORD("created_at",       TIME, struct enrollment, created_at, 0),
    RECORD("updated_at",       TIME, struct enrollment, updated_at, 0),
    RECORD("decided_by",       TEXT, struct enrollment, decided_by, RECORD_OMIT, .fallback_text = ""),
    RECORD("decided_at",       TIME, struct enrollment, decided_at, RECORD_OMIT),
    RECORD("reject_reason",    TEXT, struct enrollment, reject_reason, RECORD_OMIT, .fallback_text = ""),
    RECORD("issued_at",        TIME, struct enrollment, issued_at, RECORD_OMIT),
    RECORD("expires_at",       TIME, struct enrollment, expires_at, RECORD_OMIT),
    RECORD("remote_addr",      TEXT, struct enrollment, remote_addr, RECORD_OMIT, .fallback_text = ""),
    RECORD("trusted_ca_spki",  TEXT, struct enrollment, trusted_ca_spki, 0, .fallback_text = ""),
    RECORD("trust_mismatch",   BOOL, struct enrollment, trust_mismatch, 0),
    RECORD("trust_checked",    BOOL, struct enrollment, trust_checked, 0),
    RECORD("issuer",           TEXT, struct enrollment, issuer, RECORD_OMIT, .fallback_text = ""),
    RECORD("sponsor",          TEXT, struct enrollment, sponsor, RECORD_OMIT, .fallback_text = ""),
    RECORD("issue_after",      TIME, struct enrollment, issue_after, RECORD_OMIT),
    { 0 },
};

static const struct record_field challenge_fields[] = {
    RECORD("challenge_id", TEXT,  struct enrollment_challenge, challenge_id, 0, .fallback_text = ""),
    RECORD("challenge",    BYTES, struct enrollment_challenge, challenge, 0),
    RECORD("peel_id",      TEXT,  struct enrollment_challenge, peel_id, 0, .fallback_text = ""),
    RECORD("public_key",   TEXT,  struct enrollment_challenge, public_key, 0, .fallback_text = ""),
    RECORD("issued_at",    TIME,  struct enrollment_challenge, issued_at, 0),
    RECORD("expires_at",   TIME,  struct enrollment_challenge, expires_at, 0),
    RECORD("used",         BOOL,  struct enrollment_challenge, used, 0),
    { 0 },
};

static const struct record_field request_fields[] = {
    RECORD("id",       TEXT, struct enrollment_request, id, 0, .fallback_text = ""),
    RECORD("operator", TEXT, struct enrollment_request, operator_name, 0, .fallback_text = ""),
    RECORD("reason",   TEXT, struct enrollment_request, reason, RECORD_OMIT, .fallback_text = ""),
    RECORD("force",    BOOL, struct enrollment_request, force, RECORD_OMIT),
    { 0 },
};

static const struct record_field pause_fields[] = {
    RECORD("paused",     BOOL, struct enrollment_pause, is_paused, RECORD_REQUIRED),
    RECORD("operator",   TEXT, struct enrollment_pause, operator_name, 0, .fallback_text = ""),
    RECORD("reason",     TEXT, struct enrollment_pause, reason, RECORD_OMIT, .fallback_text = ""),
    RECORD("changed_at", TIME, struct enrollment_pause, changed_at, 0),
    { 0 },
};

static const struct record_field reply_fields[] = {
    RECORD("record",  MAP,  struct enrollment_reply, record, RECORD_OMIT),
    RECORD("err",     TEXT, struct enrollment_reply, err, RECORD_OMIT, .fallback_text = ""),
    RECORD("warning", TEXT, struct enrollment_reply, warning, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

const struct record_type enrollment_type = RECORD_TYPE("enrollment", struct enrollment, record_fields, RECORD_LENIENT);
const struct record_type enrollment_challenge_type = RECORD_TYPE("challenge", struct enrollment_challenge, challenge_fields, RECORD_LENIENT);
const struct record_type enrollment_request_type = RECORD_TYPE("admin request", struct enrollment_request, request_fields, RECORD_LENIENT);
const struct record_type enrollment_pause_type = RECORD_TYPE("enrollment pause", struct enrollment_pause, pause_fields, RECORD_LENIENT);
const struct record_type enrollment_reply_type = RECORD_TYPE("admin reply", struct enrollment_reply, reply_fields, RECORD_LENIENT);

/* clang-format on */
