/*
 * update - new versions of the daemons: what is published, commands to watchdogs and their answers,
 * and the record of a rollout.
 *
 *     manifest     update-manifests   <component>.<os>.<arch>.<version>
 *     switch       update-manifests   _auto-rollout
 *     binary       update-binaries    <component>/<os>/<arch>/<version>
 *     status       update-status      <component>.<id>, renewed by the watchdog
 *     rollout      update-rollouts    <rollout id>, changed by CAS
 *
 * Pure. Memory: texts are borrowed. Threads: any.
 */
#ifndef FLEET_WIRE_UPDATE_H
#define FLEET_WIRE_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/record.h"

enum update_component { UPDATE_PEEL, UPDATE_MASTER };
#define UPDATE_COMPONENTS      (UPDATE_MASTER + 1)
#define UPDATE_COMPONENT_WORDS "peel|master"
const char *update_component_name(enum update_component component);
/* False: no such component. */
bool update_component_parse(const char *name, enum update_component *ret);

/* Bytes of a binary; larger ones are refused. */
#define UPDATE_SIZE_MAX    (INT64_C(512) << 20)
#define UPDATE_VERSION_MAX 64
/* Letters, digits, dots, '-' and '_', with a letter or a digit at both ends, since it is part of
 * keys. */
bool update_version_is_valid(const char *version);
/* Below 0 when `a` is older: numbers by value, and letters after a number mark a version before
 * that number (1.4.0-rc1 is older than 1.4.0, which is older than 1.4.0-2). */
int update_version_compare(const char *a, const char *b);

/* A published version expires after this, unless its manifest says otherwise. */
#define UPDATE_LIFE_SECONDS  (INT64_C(30) * 86400)
#define UPDATE_EXPIRES_NEVER (-1)

struct update_manifest {
    const char *version;
    enum update_component component;
    const char *goos, *goarch;
    const char *sha256; /* lower-case hexadecimal */
    int64_t size;
    const char *object_key;
    struct value_time published;
    const char *publisher;
    int32_t min_protocol;
    bool promoted;
    int32_t promotions;    /* rounds of automatic rollouts that operators requested */
    int64_t expires_at;    /* seconds since 1970; 0: UPDATE_LIFE_SECONDS after `published` */
    const char *key;       /* public key of the signature, see fleet/update/seal.h */
    const char *signature; /* in base64 */
};
extern const struct record_type update_manifest_type;
/* When it expires, in seconds since 1970; UPDATE_EXPIRES_NEVER: never. */
int64_t update_manifest_end(const struct update_manifest *manifest);

/* Fleet-wide switch: do masters roll out promoted versions automatically? Without an entry, each
 * master follows its configuration. */
#define UPDATE_SWITCH_KEY "_auto-rollout"
struct update_switch {
    bool enabled;
    const char *operator;
    struct value_time changed_at;
};
extern const struct record_type update_switch_type;

enum update_verb {
    UPDATE_PREPARE,
    UPDATE_APPLY,
    UPDATE_CONFIRM,
    UPDATE_ROLLBACK,
    UPDATE_STATUS,
};
#define UPDATE_VERBS (UPDATE_STATUS + 1)
const char *update_verb_name(enum update_verb verb);

/* Life cycle of a version on a node. */
enum update_state {
    UPDATE_IDLE,
    UPDATE_PREPARING, /* being fetched and verified */
    UPDATE_STAGED,
    UPDATE_APPLYING, /* the daemon stops, then the slots are swapped */
    UPDATE_SOAKING,  /* running, on probation */
    UPDATE_CONFIRMED,
    UPDATE_ROLLING_BACK,
};
#define UPDATE_STATES (UPDATE_ROLLING_BACK + 1)
extern const char *const update_state_names[UPDATE_STATES];
const char *update_state_name(enum update_state state);

struct update_command {
    enum update_verb verb;
    const char *version;
    enum update_component component;
    const char *sha256, *object_key;
    const char *goos, *goarch;
    int64_t size;
    int64_t soak; /* nanoseconds; 0: the watchdog's setting */
    const char *key, *signature;
};
extern const struct record_type update_command_type;

#define UPDATE_OK    "ok"
#define UPDATE_ERROR "error"

struct update_response {
    const char *status;  /* UPDATE_OK or UPDATE_ERROR */
    const char *version; /* staged, applied or soaking; "": none */
    const char *hash;    /* of that version */
    const char *error;   /* why the command was refused; in a status: why the last update failed */
    const char *failed_version; /* the version that failed; "": none */
    enum update_state state;
    int64_t uptime; /* of the daemon, in nanoseconds */
    const char *running_version;
    bool soak_passed;
};
extern const struct record_type update_response_type;

/* Status of a watchdog. */
struct update_node {
    const char *id;
    enum update_component component;
    const char *version;
    enum update_state state;
    const char *goos, *goarch;
    struct value_time updated_at;
    int64_t child_pid, child_uptime; /* nanoseconds */
    bool degraded;
    int32_t protocol;
    const char *veto; /* why it refuses updates; "": it accepts them */
};
extern const struct record_type update_node_type;

/* --- rollouts ----------------------------------------------------------------------- */

struct update_plan {
    const char *version;
    enum update_component component;
    const char *target;
    int32_t batch_size, batch_percent;
    int64_t soak_time, batch_pause; /* nanoseconds */
    int32_t max_failed;
    bool dry_run;
    const char *rollout_id; /* "": a new one */
    int32_t promotion;      /* the round of an automatic rollout */
};
extern const struct record_type update_plan_type;

enum update_rollout_state {
    UPDATE_ROLLOUT_CREATED,
    UPDATE_ROLLOUT_PREPARING,
    UPDATE_ROLLOUT_ROLLING,
    UPDATE_ROLLOUT_SOAKING,
    UPDATE_ROLLOUT_COMPLETED,
    UPDATE_ROLLOUT_ABORTING,
    UPDATE_ROLLOUT_ABORTED,
};
#define UPDATE_ROLLOUT_STATES (UPDATE_ROLLOUT_ABORTED + 1)
const char *update_rollout_state_name(enum update_rollout_state state);
bool update_rollout_is_over(enum update_rollout_state state);

enum update_node_result {
    UPDATE_NODE_PENDING, /* not begun */
    UPDATE_NODE_PREPARED,
    UPDATE_NODE_APPLIED,
    UPDATE_NODE_CONFIRMED,
    UPDATE_NODE_SKIPPED, /* already ran the version */
    UPDATE_NODE_FAILED,
    UPDATE_NODE_ROLLED_BACK,
};
#define UPDATE_NODE_RESULTS (UPDATE_NODE_ROLLED_BACK + 1)
const char *update_node_result_name(enum update_node_result result);

struct update_result {
    const char *node, *id; /* the key, and the id in the record */
    enum update_node_result status;
    const char *error, *note;
    struct value_time updated;
};
extern const struct record_type update_result_type;

struct update_results {
    VEC(struct update_result) list; /* by id */
};

struct update_rollout {
    const char *id;
    struct update_plan config;
    enum update_rollout_state state;
    struct value batches; /* a list of lists of ids */
    struct update_results node_results;
    int32_t current_batch;
    struct value_time started_at, finished_at;
    int32_t failed_count;
    const char *error;
    const char *driver_id;
    struct value_time driver_heartbeat;
    struct value_time pause_until; /* the next batch begins then */
    const char *operator;
};
extern const struct record_type update_rollout_type;

struct update_start {
    struct update_plan config;
    const char *operator;
};
extern const struct record_type update_start_type;

struct update_started {
    const char *id;
    struct value batches;
    int32_t nodes;
    const char *error, *state;
};
extern const struct record_type update_started_type;

struct update_abort {
    const char *rollout_id, *operator;
};
extern const struct record_type update_abort_type;

struct update_aborted {
    const char *error;
};
extern const struct record_type update_aborted_type;

#endif
