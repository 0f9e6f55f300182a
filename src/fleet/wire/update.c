#include "fleet/wire/update.h"

#include <string.h>

static const char *const component_names[UPDATE_COMPONENTS] = {
    [UPDATE_PEEL] = "peel",
    [UPDATE_MASTER] = "master",
};

static const char *const verb_names[UPDATE_VERBS] = {
    [UPDATE_PREPARE] = "prepare",   [UPDATE_APPLY] = "apply",   [UPDATE_CONFIRM] = "confirm",
    [UPDATE_ROLLBACK] = "rollback", [UPDATE_STATUS] = "status",
};

const char *const update_state_names[UPDATE_STATES] = {
    [UPDATE_IDLE] = "idle",
    [UPDATE_PREPARING] = "preparing",
    [UPDATE_STAGED] = "staged",
    [UPDATE_APPLYING] = "applying",
    [UPDATE_SOAKING] = "soaking",
    [UPDATE_CONFIRMED] = "confirmed",
    [UPDATE_ROLLING_BACK] = "rolling_back",
};

static const char *const rollout_names[UPDATE_ROLLOUT_STATES] = {
    [UPDATE_ROLLOUT_CREATED] = "created",     [UPDATE_ROLLOUT_PREPARING] = "preparing",
    [UPDATE_ROLLOUT_ROLLING] = "rolling",     [UPDATE_ROLLOUT_SOAKING] = "soaking",
    [UPDATE_ROLLOUT_COMPLETED] = "completed", [UPDATE_ROLLOUT_ABORTING] = "aborting",
    [UPDATE_ROLLOUT_ABORTED] = "aborted",
};

static const char *const result_names[UPDATE_NODE_RESULTS] = {
    [UPDATE_NODE_PENDING] = "pending",         [UPDATE_NODE_PREPARED] = "prepared",
    [UPDATE_NODE_APPLIED] = "applied",         [UPDATE_NODE_CONFIRMED] = "confirmed",
    [UPDATE_NODE_SKIPPED] = "skipped",         [UPDATE_NODE_FAILED] = "failed",
    [UPDATE_NODE_ROLLED_BACK] = "rolled_back",
};

const char *update_component_name(enum update_component component)
{
    return component_names[component];
}

bool update_component_parse(const char *name, enum update_component *ret)
{
    for (enum update_component i = 0; i < UPDATE_COMPONENTS; i++)
        if (strcmp(component_names[i], name) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

const char *update_verb_name(enum update_verb verb)
{
    return verb_names[verb];
}

const char *update_state_name(enum update_state state)
{
    return update_state_names[state];
}

const char *update_rollout_state_name(enum update_rollout_state state)
{
    return rollout_names[state];
}

bool update_rollout_is_over(enum update_rollout_state state)
{
    return state == UPDATE_ROLLOUT_COMPLETED || state == UPDATE_ROLLOUT_ABORTED;
}

const char *update_node_result_name(enum update_node_result result)
{
    return result_names[result];
}

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool update_version_is_valid(const char *version)
{
    const size_t n = strlen(version);

    if (n == 0 || n > UPDATE_VERSION_MAX || !is_alphanumeric(version[0]) ||
        !is_alphanumeric(version[n - 1]) || strstr(version, ".."))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_alphanumeric(version[i]) && !strchr(".-_", version[i]))
            return false;
    return true;
}

/* A text of versions in pieces: one without digits, which may be empty, then a number. */
struct piece {
    struct str word, number;
};

static struct piece cut_piece(const char **rest)
{
    const size_t word = strcspn(*rest, "0123456789");
    const char *number = *rest + word;
    const size_t digits = strspn(number, "0123456789");
    const size_t zeros = strspn(number, "0");
    const size_t skipped = zeros < digits ? zeros : digits > 0 ? digits - 1 : 0;
    const struct piece piece = { { *rest, word }, { number + skipped, digits - skipped } };

    *rest = number + digits;
    return piece;
}

/* Letters come before the end of the text, and separators after it. */
static int rank_word(struct str word)
{
    for (size_t i = 0; i < word.n; i++)
        if (is_alphanumeric(word.p[i]))
            return -1;
    return word.n > 0;
}

static int compare_pieces(const struct piece *a, const struct piece *b)
{
    int order = rank_word(a->word) - rank_word(b->word);

    if (order == 0)
        order = str_compare(a->word, b->word);
    if (order == 0 && a->number.n != b->number.n)
        order = a->number.n < b->number.n ? -1 : 1;
    return order ? order : str_compare(a->number, b->number);
}

int update_version_compare(const char *a, const char *b)
{
    while (*a || *b) {
        const struct piece left = cut_piece(&a), right = cut_piece(&b);
        const int order = compare_pieces(&left, &right);

        if (order)
            return order;
    }
    return 0;
}

int64_t update_manifest_end(const struct update_manifest *manifest)
{
    if (manifest->promoted || manifest->expires_at < 0)
        return UPDATE_EXPIRES_NEVER;
    return manifest->expires_at ? manifest->expires_at
                                : manifest->published.seconds + UPDATE_LIFE_SECONDS;
}

/* clang-format off */

static const struct record_field manifest_fields[] = {
    RECORD("version",      TEXT, struct update_manifest, version, RECORD_REQUIRED),
    RECORD("component",    WORD, struct update_manifest, component, RECORD_REQUIRED, RECORD_WORDS(component_names)),
    RECORD("goos",         TEXT, struct update_manifest, goos, 0, .fallback_text = ""),
    RECORD("goarch",       TEXT, struct update_manifest, goarch, 0, .fallback_text = ""),
    RECORD("sha256",       TEXT, struct update_manifest, sha256, 0, .fallback_text = ""),
    RECORD("size",         INT,  struct update_manifest, size, 0),
    RECORD("object_key",   TEXT, struct update_manifest, object_key, 0, .fallback_text = ""),
    RECORD("published",    TIME, struct update_manifest, published, 0),
    RECORD("publisher",    TEXT, struct update_manifest, publisher, 0, .fallback_text = ""),
    RECORD("min_protocol", INT,  struct update_manifest, min_protocol, RECORD_OMIT),
    RECORD("promoted",     BOOL, struct update_manifest, promoted, RECORD_OMIT),
    RECORD("promotions",   INT,  struct update_manifest, promotions, RECORD_OMIT, RECORD_RANGE(0, INT32_MAX - 1)),
    RECORD("expires_at",   INT,  struct update_manifest, expires_at, RECORD_OMIT),
    RECORD("key",          TEXT, struct update_manifest, key, RECORD_OMIT, .fallback_text = ""),
    RECORD("signature",    TEXT, struct update_manifest, signature, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field switch_fields[] = {
    RECORD("enabled",    BOOL, struct update_switch, enabled, RECORD_REQUIRED),
    RECORD("operator",   TEXT, struct update_switch, operator, 0, .fallback_text = ""),
    RECORD("changed_at", TIME, struct update_switch, changed_at, 0),
    { 0 },
};

static const struct record_field command_fields[] = {
    RECORD("command",    WORD, struct update_command, verb, RECORD_REQUIRED, RECORD_WORDS(verb_names)),
    RECORD("version",    TEXT, struct update_command, version, 0, .fallback_text = ""),
    RECORD("component",  WORD, struct update_command, component, RECORD_REQUIRED, RECORD_WORDS(component_names)),
    RECORD("sha256",     TEXT, struct update_command, sha256, 0, .fallback_text = ""),
    RECORD("object_key", TEXT, struct update_command, object_key, 0, .fallback_text = ""),
    RECORD("goos",       TEXT, struct update_command, goos, RECORD_OMIT, .fallback_text = ""),
    RECORD("goarch",     TEXT, struct update_command, goarch, RECORD_OMIT, .fallback_text = ""),
    RECORD("size",       INT,  struct update_command, size, RECORD_OMIT),
    RECORD("soak",       INT,  struct update_command, soak, RECORD_OMIT | RECORD_WIDE),
    RECORD("key",        TEXT, struct update_command, key, RECORD_OMIT, .fallback_text = ""),
    RECORD("signature",  TEXT, struct update_command, signature, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field response_fields[] = {
    RECORD("status",          TEXT, struct update_response, status, 0, .fallback_text = ""),
    RECORD("version",         TEXT, struct update_response, version, 0, .fallback_text = ""),
    RECORD("hash",            TEXT, struct update_response, hash, 0, .fallback_text = ""),
    RECORD("error",           TEXT, struct update_response, error, 0, .fallback_text = ""),
    RECORD("state",           WORD, struct update_response, state, 0, RECORD_WORDS(update_state_names)),
    RECORD("uptime",          INT,  struct update_response, uptime, RECORD_WIDE),
    RECORD("running_version", TEXT, struct update_response, running_version, 0, .fallback_text = ""),
    RECORD("soak_passed",     BOOL, struct update_response, soak_passed, 0),
    RECORD("failed_version",  TEXT, struct update_response, failed_version, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field node_fields[] = {
    RECORD("id",           TEXT, struct update_node, id, 0, .fallback_text = ""),
    RECORD("component",    WORD, struct update_node, component, RECORD_REQUIRED, RECORD_WORDS(component_names)),
    RECORD("version",      TEXT, struct update_node, version, 0, .fallback_text = ""),
    RECORD("state",        WORD, struct update_node, state, 0, RECORD_WORDS(update_state_names)),
    RECORD("goos",         TEXT, struct update_node, goos, 0, .fallback_text = ""),
    RECORD("goarch",       TEXT, struct update_node, goarch, 0, .fallback_text = ""),
    RECORD("updated_at",   TIME, struct update_node, updated_at, 0),
    RECORD("child_pid",    INT,  struct update_node, child_pid, 0),
    RECORD("child_uptime", INT,  struct update_node, child_uptime, RECORD_WIDE),
    RECORD("degraded",     BOOL, struct update_node, degraded, RECORD_OMIT),
    RECORD("protocol",     INT,  struct update_node, protocol, RECORD_OMIT),
    RECORD("veto",         TEXT, struct update_node, veto, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field plan_fields[] = {
    RECORD("version",       TEXT, struct update_plan, version, 0, .fallback_text = ""),
    RECORD("component",     WORD, struct update_plan, component, RECORD_REQUIRED, RECORD_WORDS(component_names)),
    RECORD("target",        TEXT, struct update_plan, target, 0, .fallback_text = ""),
    RECORD("batch_size",    INT,  struct update_plan, batch_size, 0, RECORD_RANGE(0, INT32_MAX)),
    RECORD("batch_percent", INT,  struct update_plan, batch_percent, 0, RECORD_RANGE(0, 100)),
    RECORD("soak_time",     INT,  struct update_plan, soak_time, RECORD_WIDE, RECORD_RANGE(0, INT64_MAX)),
    RECORD("batch_pause",   INT,  struct update_plan, batch_pause, RECORD_WIDE, RECORD_RANGE(0, INT64_MAX)),
    RECORD("max_failed",    INT,  struct update_plan, max_failed, 0, RECORD_RANGE(0, INT32_MAX)),
    RECORD("dry_run",       BOOL, struct update_plan, dry_run, 0),
    RECORD("rollout_id",    TEXT, struct update_plan, rollout_id, RECORD_OMIT, .fallback_text = ""),
    RECORD("promotion",     INT,  struct update_plan, promotion, RECORD_OMIT, RECORD_RANGE(0, INT32_MAX)),
    { 0 },
};

static const struct record_field result_fields[] = {
    RECORD("node",    TEXT, struct update_result, node, RECORD_REQUIRED),
    RECORD("id",      TEXT, struct update_result, id, 0, .fallback_text = ""),
    RECORD("status",  WORD, struct update_result, status, 0, RECORD_WORDS(result_names)),
    RECORD("error",   TEXT, struct update_result, error, RECORD_OMIT, .fallback_text = ""),
    RECORD("note",    TEXT, struct update_result, note, RECORD_OMIT, .fallback_text = ""),
    RECORD("updated", TIME, struct update_result, updated, 0),
    { 0 },
};

const struct record_type update_manifest_type = RECORD_TYPE("update manifest", struct update_manifest, manifest_fields, RECORD_LENIENT);
const struct record_type update_switch_type = RECORD_TYPE("automatic rollouts", struct update_switch, switch_fields, RECORD_LENIENT);
const struct record_type update_command_type = RECORD_TYPE("update command", struct update_command, command_fields, RECORD_LENIENT);
const struct record_type update_response_type = RECORD_TYPE("update response", struct update_response, response_fields, RECORD_LENIENT);
const struct record_type update_node_type = RECORD_TYPE("node status", struct update_node, node_fields, RECORD_LENIENT);
const struct record_type update_plan_type = RECORD_TYPE("rollout config", struct update_plan, plan_fields, RECORD_LENIENT);
const struct record_type update_result_type = RECORD_TYPE("node result", struct update_result, result_fields, RECORD_LENIENT);

static const struct record_field rollout_fields[] = {
    RECORD("id",               TEXT,   struct update_rollout, id, RECORD_REQUIRED),
    RECORD("config",           STRUCT, struct update_rollout, config, RECORD_REQUIRED, .inner = &update_plan_type),
    RECORD("state",            WORD,   struct update_rollout, state, 0, RECORD_WORDS(rollout_names)),
    RECORD("batches",          ANY,    struct update_rollout, batches, 0),
    RECORD("node_results",     NAMED,  struct update_rollout, node_results, 0, .inner = &update_result_type),
    RECORD("current_batch",    INT,    struct update_rollout, current_batch, 0, RECORD_RANGE(0, INT32_MAX)),
    RECORD("started_at",       TIME,   struct update_rollout, started_at, 0),
    RECORD("finished_at",      TIME,   struct update_rollout, finished_at, RECORD_OMIT),
    RECORD("failed_count",     INT,    struct update_rollout, failed_count, 0),
    RECORD("error",            TEXT,   struct update_rollout, error, RECORD_OMIT, .fallback_text = ""),
    RECORD("driver_id",        TEXT,   struct update_rollout, driver_id, RECORD_OMIT, .fallback_text = ""),
    RECORD("driver_heartbeat", TIME,   struct update_rollout, driver_heartbeat, RECORD_OMIT),
    RECORD("pause_until",      TIME,   struct update_rollout, pause_until, RECORD_OMIT),
    RECORD("operator",         TEXT,   struct update_rollout, operator, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field start_fields[] = {
    RECORD("config",   STRUCT, struct update_start, config, RECORD_REQUIRED, .inner = &update_plan_type),
    RECORD("operator", TEXT,   struct update_start, operator, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field started_fields[] = {
    RECORD("id",      TEXT, struct update_started, id, RECORD_OMIT, .fallback_text = ""),
    RECORD("batches", ANY,  struct update_started, batches, 0),
    RECORD("nodes",   INT,  struct update_started, nodes, 0),
    RECORD("error",   TEXT, struct update_started, error, RECORD_OMIT, .fallback_text = ""),
    RECORD("state",   TEXT, struct update_started, state, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field abort_fields[] = {
    RECORD("rollout_id", TEXT, struct update_abort, rollout_id, 0, .fallback_text = ""),
    RECORD("operator",   TEXT, struct update_abort, operator, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

static const struct record_field aborted_fields[] = {
    RECORD("error", TEXT, struct update_aborted, error, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

const struct record_type update_rollout_type = RECORD_TYPE("rollout", struct update_rollout, rollout_fields, RECORD_LENIENT);
const struct record_type update_start_type = RECORD_TYPE("rollout start", struct update_start, start_fields, RECORD_LENIENT);
const struct record_type update_started_type = RECORD_TYPE("rollout start reply", struct update_started, started_fields, RECORD_LENIENT);
const struct record_type update_abort_type = RECORD_TYPE("rollout abort", struct update_abort, abort_fields, RECORD_LENIENT);
const struct record_type update_aborted_type = RECORD_TYPE("rollout abort reply", struct update_aborted, aborted_fields, RECORD_LENIENT);

/* clang-format on */
