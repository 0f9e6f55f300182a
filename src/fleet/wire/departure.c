#include "fleet/wire/departure.h"

/* clang-format off */

static const struct record_field request_fields[] = {
    RECORD("peels",    TEXTS, struct departure_request, peels, RECORD_REQUIRED),
    RECORD("operator", TEXT,  struct departure_request, operator, 0, .fallback_text = ""),
    RECORD("reason",   TEXT,  struct departure_request, reason, RECORD_OMIT, .fallback_text = ""),
    RECORD("force",    BOOL,  struct departure_request, force, RECORD_OMIT),
    { 0 },
};

static const struct record_field departure_fields[] = {
    RECORD("peel_id",       TEXT, struct departure, peel_id, RECORD_REQUIRED),
    RECORD("err",           TEXT, struct departure, err, RECORD_OMIT, .fallback_text = ""),
    RECORD("warning",       TEXT, struct departure, warning, RECORD_OMIT, .fallback_text = ""),
    RECORD("revoked",       INT,  struct departure, revoked, 0),
    RECORD("enrollments",   INT,  struct departure, enrollments, 0),
    RECORD("facts",         INT,  struct departure, facts, 0),
    RECORD("secrets",       INT,  struct departure, secrets, 0),
    RECORD("heartbeat",     INT,  struct departure, heartbeat, 0),
    RECORD("basket",        INT,  struct departure, basket, 0),
    RECORD("update_status", INT,  struct departure, update_status, 0),
    { 0 },
};

const struct record_type departure_request_type = RECORD_TYPE("departure request", struct departure_request, request_fields, RECORD_LENIENT);
const struct record_type departure_type = RECORD_TYPE("departure", struct departure, departure_fields, RECORD_LENIENT);

static const struct record_field reply_fields[] = {
    RECORD("err",   TEXT, struct departure_reply, err, RECORD_OMIT, .fallback_text = ""),
    RECORD("peels", LIST, struct departure_reply, peels, 0, .inner = &departure_type),
    { 0 },
};

const struct record_type departure_reply_type = RECORD_TYPE("departure reply", struct departure_reply, reply_fields, RECORD_LENIENT);

/* clang-format on */
