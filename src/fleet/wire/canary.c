#include "fleet/wire/canary.h"

/* clang-format off */
static const char *const phases[] = {
    [CANARY_RUNNING]   = "running",
    [CANARY_PROMOTING] = "promoting",
    [CANARY_ABORTING]  = "aborting",
    [CANARY_ENDED]     = "ended",
};

static const char *const acts[] = {
    [CANARY_SHOW]    = "show",
    [CANARY_BEGIN]   = "begin",
    [CANARY_PROMOTE] = "promote",
    [CANARY_ABORT]   = "abort",
};

static const struct record_field canary_fields[] = {
    RECORD("target",     TEXT, struct canary, target, RECORD_REQUIRED),
    RECORD("groups",     MAP,  struct canary, groups, RECORD_OMIT),
    RECORD("phase",      WORD, struct canary, phase, RECORD_REQUIRED, RECORD_WORDS(phases)),
    RECORD("since_unix", INT,  struct canary, since_unix, 0),
    RECORD("operator",   TEXT, struct canary, operator, 0, .fallback_text = ""),
    RECORD("ended_by",   TEXT, struct canary, ended_by, RECORD_OMIT, .fallback_text = ""),
    RECORD("base",       INT,  struct canary, base, RECORD_REQUIRED),
    RECORD("manifest",   TEXT, struct canary, manifest, 0, .fallback_text = ""),
    { 0 },
};

const struct record_type canary_type = RECORD_TYPE("canary", struct canary, canary_fields, RECORD_LENIENT);

static const struct record_field request_fields[] = {
    RECORD("act",      WORD, struct canary_request, act, RECORD_REQUIRED, RECORD_WORDS(acts)),
    RECORD("target",   TEXT, struct canary_request, target, RECORD_OMIT, .fallback_text = ""),
    RECORD("operator", TEXT, struct canary_request, operator, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

const struct record_type canary_request_type = RECORD_TYPE("canary request", struct canary_request, request_fields, RECORD_LENIENT);

static const struct record_field reply_fields[] = {
    RECORD("master",     TEXT, struct canary_reply, master, 0, .fallback_text = ""),
    RECORD("active",     BOOL, struct canary_reply, active, 0),
    RECORD("phase",      TEXT, struct canary_reply, phase, RECORD_OMIT, .fallback_text = ""),
    RECORD("target",     TEXT, struct canary_reply, target, RECORD_OMIT, .fallback_text = ""),
    RECORD("since_unix", INT,  struct canary_reply, since_unix, RECORD_OMIT),
    RECORD("operator",   TEXT, struct canary_reply, operator, RECORD_OMIT, .fallback_text = ""),
    RECORD("base",       INT,  struct canary_reply, base, RECORD_OMIT),
    RECORD("revision",   INT,  struct canary_reply, revision, RECORD_OMIT),
    RECORD("peels",      INT,  struct canary_reply, peels, 0),
    RECORD("following",  INT,  struct canary_reply, following, 0),
    RECORD("published",  INT,  struct canary_reply, published, RECORD_OMIT),
    RECORD("files",      INT,  struct canary_reply, files, RECORD_OMIT),
    RECORD("err",        TEXT, struct canary_reply, err, RECORD_OMIT, .fallback_text = ""),
    RECORD("trees",      MAP,  struct canary_reply, trees, RECORD_OMIT),
    { 0 },
};
/* clang-format on */

const struct record_type canary_reply_type =
    RECORD_TYPE("canary reply", struct canary_reply, reply_fields, RECORD_LENIENT);

const char *canary_phase_name(enum canary_phase phase)
{
    return phases[phase];
}

bool canary_is_followed(const struct canary *canary)
{
    return canary->phase == CANARY_RUNNING || canary->phase == CANARY_PROMOTING;
}
