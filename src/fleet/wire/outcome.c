#include "fleet/wire/outcome.h"

#include <string.h>

static const char *const result_names[OUTCOME_RESULTS] = {
    [OUTCOME_DISPATCHED] = "dispatched",
    [OUTCOME_DUPLICATE] = "duplicate",
    [OUTCOME_THROTTLED] = "throttled",
    [OUTCOME_BREAKER_OPEN] = "breaker_open",
    [OUTCOME_RENDER_ERROR] = "render_error",
    [OUTCOME_VALIDATE_ERROR] = "validate_error",
    [OUTCOME_ABORTED] = "aborted",
    [OUTCOME_REFUSED] = "refused",
    [OUTCOME_NO_TARGETS] = "no_targets",
    [OUTCOME_ERROR] = "error",
    [OUTCOME_EMPTY] = "empty",
};

static const char *const kind_names[OUTCOME_KINDS] = {
    [OUTCOME_FIRED] = "fired",
    [OUTCOME_UNMATCHED] = "unmatched",
    [OUTCOME_DROPPED] = "dropped",
    [OUTCOME_EXHAUSTED] = "exhausted",
};

const char *outcome_result_name(enum outcome_result result)
{
    return result_names[result];
}

const char *outcome_kind_name(enum outcome_kind kind)
{
    return kind_names[kind];
}

bool outcome_is_settled(const struct outcome *outcome)
{
    VEC_EACH (&outcome->rules.list, rule)
        if (rule->result == OUTCOME_ERROR)
            return false;
    return outcome->outcome != OUTCOME_EXHAUSTED;
}

static bool is_outcome_key(const char *id)
{
    size_t n = 0;

    for (; id[n]; n++)
        if (!((id[n] >= 'a' && id[n] <= 'z') || (id[n] >= 'A' && id[n] <= 'Z') ||
              (id[n] >= '0' && id[n] <= '9') || id[n] == '_' || id[n] == '-'))
            return false;
    return n > 0 && n < OUTCOME_KEY_SIZE;
}

void outcome_key(const char *event_id, char key[static OUTCOME_KEY_SIZE])
{
    if (is_outcome_key(event_id))
        memcpy(key, event_id, strlen(event_id) + 1);
    else
        sha256_hex(event_id, strlen(event_id), key);
}

#define SMALL(key, type, field) RECORD(key, TEXT, type, field, RECORD_OMIT, .fallback_text = "")

/* clang-format off */
static const struct record_field block_fields[] = {
    RECORD("block",   TEXT, struct outcome_block, block, 0),
    RECORD("action",  TEXT, struct outcome_block, action, 0),
    RECORD("result",  WORD, struct outcome_block, result, 0, RECORD_WORDS(result_names)),
    SMALL("message", struct outcome_block, message),
    SMALL("made",    struct outcome_block, made),
    SMALL("what",    struct outcome_block, what),
    { 0 },
};
const struct record_type outcome_block_type =
    RECORD_TYPE("block", struct outcome_block, block_fields, RECORD_LENIENT);

static const struct record_field rule_fields[] = {
    RECORD("rule",    TEXT, struct outcome_rule, rule, 0),
    RECORD("pattern", TEXT, struct outcome_rule, pattern, 0),
    RECORD("result",  WORD, struct outcome_rule, result, 0, RECORD_WORDS(result_names)),
    SMALL("message", struct outcome_rule, message),
    RECORD("blocks",  LIST, struct outcome_rule, blocks, RECORD_OMIT, .inner = &outcome_block_type),
    { 0 },
};
const struct record_type outcome_rule_type =
    RECORD_TYPE("rule", struct outcome_rule, rule_fields, RECORD_LENIENT);

static const struct record_field outcome_fields[] = {
    RECORD("id",         TEXT, struct outcome, id, 0),
    RECORD("outcome",    WORD, struct outcome, outcome, 0, RECORD_WORDS(kind_names)),
    SMALL("reason",     struct outcome, reason),
    SMALL("key",        struct outcome, key),
    RECORD("rules",      LIST, struct outcome, rules, 0, .inner = &outcome_rule_type),
    RECORD("depth",      INT,  struct outcome, depth, RECORD_OMIT),
    SMALL("provenance", struct outcome, provenance),
    SMALL("parent",     struct outcome, parent),
    RECORD("ts",         TIME, struct outcome, ts, 0),
    SMALL("master",     struct outcome, master),
    RECORD("deliveries", INT,  struct outcome, deliveries, RECORD_OMIT),
    RECORD("seq",        INT,  struct outcome, seq, RECORD_OMIT),
    { 0 },
};
/* clang-format on */

const struct record_type outcome_type =
    RECORD_TYPE("outcome", struct outcome, outcome_fields, RECORD_LENIENT);
