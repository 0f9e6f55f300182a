#include "fleet/wire/liveness.h"

/* clang-format off */

static const struct record_field master_fields[] = {
    RECORD("master_id",   TEXT,  struct liveness_master, master_id, 0, .fallback_text = ""),
    RECORD("active_jobs", TEXTS, struct liveness_master, active_jobs, RECORD_NIL),
    RECORD("timestamp",   TIME,  struct liveness_master, timestamp, 0),
    RECORD("version",     TEXT,  struct liveness_master, version, RECORD_OMIT, .fallback_text = ""),
    RECORD("since",       TIME,  struct liveness_master, since, RECORD_OMIT),
    { 0 },
};

static const struct record_field peel_fields[] = {
    RECORD("ts",       TIME, struct liveness_peel, ts, 0),
    RECORD("version",  TEXT, struct liveness_peel, version, RECORD_OMIT, .fallback_text = ""),
    RECORD("protocol", INT,  struct liveness_peel, protocol, RECORD_OMIT),
    RECORD("run",      MAP,  struct liveness_peel, run, RECORD_OMIT),
    { 0 },
};

const struct record_type liveness_master_type = RECORD_TYPE("master heartbeat", struct liveness_master, master_fields, RECORD_LENIENT);
const struct record_type liveness_peel_type = RECORD_TYPE("heartbeat", struct liveness_peel, peel_fields, RECORD_LENIENT);

/* clang-format on */
