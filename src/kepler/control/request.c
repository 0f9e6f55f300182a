#include "kepler/control/request.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "kepler/control/message.h"

/* The first field of every request that has one. */
static int check_config(const void *record, struct err *err)
{
    const char *config = *(const char *const *)record;

    if (config && config[0] != '/')
        return err_set(err, ERR_INVALID, "'config' is '%s', expected an absolute path", config);
    return 0;
}

_Static_assert(offsetof(struct request_start, config) == 0 &&
                   offsetof(struct request_stop, config) == 0 &&
                   offsetof(struct request_logs, config) == 0 &&
                   offsetof(struct request_metrics, config) == 0 &&
                   offsetof(struct request_ask, config) == 0 &&
                   offsetof(struct request_rights, config) == 0 &&
                   offsetof(struct request_check, config) == 0 &&
                   offsetof(struct request_wait, config) == 0,
               "check_config finds the path");

/* clang-format off */
#define ARGS struct request_start
static const struct record_field start_fields[] = {
    RECORD("config",           TEXT,  ARGS, config,            RECORD_REQUIRED),
    RECORD("services",         TEXTS, ARGS, services,          RECORD_OMIT),
    RECORD("no_deps",          BOOL,  ARGS, no_deps,           RECORD_OMIT),
    RECORD("refresh_env",      BOOL,  ARGS, refresh_env,       RECORD_OMIT),
    RECORD("start_clean",      BOOL,  ARGS, start_clean,       RECORD_OMIT),
    RECORD("follow",           BOOL,  ARGS, follow,            RECORD_OMIT),
    RECORD("logs",             BOOL,  ARGS, logs,              RECORD_OMIT),
    RECORD("progress",         BOOL,  ARGS, progress,          RECORD_OMIT),
    RECORD("environment",      TEXTS, ARGS, environment,       RECORD_OMIT),
    RECORD("overrides",        TEXTS, ARGS, overrides,         RECORD_OMIT),
    RECORD("flags",            TEXTS, ARGS, flags,             RECORD_OMIT),
    RECORD("hardening",        TEXT,  ARGS, hardening,         RECORD_OMIT),
    RECORD("text",             TEXT,  ARGS, text,              RECORD_OMIT),
    RECORD("lasting",          BOOL,  ARGS, lasting,           RECORD_OMIT),
    RECORD("needs",            BOOL,  ARGS, needs,             RECORD_OMIT),
    RECORD("apart",            BOOL,  ARGS, apart,             RECORD_OMIT),
    RECORD("clean_after",      BOOL,  ARGS, clean_after,       RECORD_OMIT),
    { 0 },
};
#undef ARGS
#define ARGS struct request_apply
static const struct record_field apply_fields[] = {
    RECORD("config",           TEXT,  ARGS, start.config,      RECORD_REQUIRED),
    RECORD("test",             BOOL,  ARGS, test,              RECORD_OMIT),
    RECORD("ready",            BOOL,  ARGS, ready,             RECORD_OMIT),
    RECORD("revert",           BOOL,  ARGS, revert,            RECORD_OMIT),
    RECORD("timeout",          INT,   ARGS, timeout,           RECORD_OMIT, RECORD_RANGE(0, INT64_MAX)),
    { 0 },
};
#undef ARGS
#define ARGS struct request_stop
static const struct record_field stop_fields[] = {
    RECORD("config",           TEXT,  ARGS, config,            RECORD_REQUIRED),
    RECORD("services",         TEXTS, ARGS, services,          RECORD_OMIT),
    RECORD("clean",            BOOL,  ARGS, clean,             RECORD_OMIT),
    RECORD("progress",         BOOL,  ARGS, progress,          RECORD_OMIT),
    RECORD("keep_logs",        BOOL,  ARGS, keep_logs,         RECORD_OMIT),
    RECORD("signal",           TEXT,  ARGS, signal,            RECORD_OMIT),
    RECORD("because",          TEXT,  ARGS, because,           RECORD_OMIT),
    { 0 },
};
#undef ARGS
#define ARGS struct request_logs
static const struct record_field logs_fields[] = {
    RECORD("config",           TEXT,  ARGS, config,            RECORD_REQUIRED),
    RECORD("services",         TEXTS, ARGS, services,          RECORD_OMIT),
    RECORD("follow",           BOOL,  ARGS, follow,            RECORD_OMIT),
    RECORD("no_hook",          BOOL,  ARGS, no_hook,           RECORD_OMIT),
    RECORD("hook",             TEXT,  ARGS, hook,              RECORD_OMIT),
    RECORD("level",            TEXT,  ARGS, level,             RECORD_OMIT),
    RECORD("query",            TEXT,  ARGS, query,             RECORD_OMIT),
    RECORD("sql",              BOOL,  ARGS, sql,               RECORD_OMIT),
    RECORD("since",            INT,   ARGS, since,             RECORD_OMIT, RECORD_RANGE(0, INT64_MAX)),
    RECORD("until",            INT,   ARGS, until,             RECORD_OMIT, RECORD_RANGE(0, INT64_MAX)),
    RECORD("head",             INT,   ARGS, head,              RECORD_OMIT, RECORD_GIVEN(ARGS, has_head), RECORD_RANGE(0, INT64_MAX)),
    RECORD("tail",             INT,   ARGS, tail,              RECORD_OMIT, RECORD_GIVEN(ARGS, has_tail), RECORD_RANGE(0, INT64_MAX)),
    { 0 },
};
#undef ARGS
#define ARGS struct request_metrics
static const struct record_field metrics_fields[] = {
    RECORD("config",           TEXT,  ARGS, config,            RECORD_REQUIRED),
    RECORD("services",         TEXTS, ARGS, services,          RECORD_OMIT),
    RECORD("live",             BOOL,  ARGS, live,              RECORD_OMIT),
    RECORD("history",          INT,   ARGS, history,           RECORD_OMIT, RECORD_RANGE(0, INT64_MAX / 1000000)),
    RECORD("bucket",           INT,   ARGS, bucket,            RECORD_OMIT, RECORD_RANGE(0, INT64_MAX / 1000000)),
    RECORD("query",            TEXT,  ARGS, query,             RECORD_OMIT),
    RECORD("sql",              BOOL,  ARGS, sql,               RECORD_OMIT),
    { 0 },
};
#undef ARGS
#define ARGS struct request_ask
static const struct record_field ask_fields[] = {
    RECORD("config",           TEXT,  ARGS, config,            RECORD_OMIT),
    RECORD("services",         TEXTS, ARGS, services,          RECORD_OMIT),
    RECORD("with_services",    BOOL,  ARGS, with_services,     RECORD_OMIT),
    RECORD("with_environment", BOOL,  ARGS, with_environment,  RECORD_OMIT),
    RECORD("with_flags",       BOOL,  ARGS, with_flags,        RECORD_OMIT),
    RECORD("with_text",        BOOL,  ARGS, with_text,         RECORD_OMIT),
    { 0 },
};
#undef ARGS
#define ARGS struct request_rights
static const struct record_field rights_fields[] = {
    RECORD("config",           TEXT,  ARGS, config,            RECORD_REQUIRED),
    RECORD("user",             TEXT,  ARGS, user,              RECORD_OMIT),
    { 0 },
};
#undef ARGS
#define ARGS struct request_check
static const struct record_field check_fields[] = {
    RECORD("config",           TEXT,  ARGS, config,            RECORD_REQUIRED),
    RECORD("text",             TEXT,  ARGS, text,              RECORD_REQUIRED),
    { 0 },
};
#undef ARGS
#define ARGS struct request_wait
static const struct record_field wait_fields[] = {
    RECORD("config",           TEXT,  ARGS, config,            RECORD_REQUIRED),
    RECORD("services",         TEXTS, ARGS, services,          RECORD_OMIT),
    RECORD("condition",        TEXT,  ARGS, condition,         RECORD_REQUIRED),
    RECORD("now",              BOOL,  ARGS, now,               RECORD_OMIT),
    { 0 },
};
#undef ARGS
#define ARGS struct request_prune
static const struct record_field prune_fields[] = {
    RECORD("force",            BOOL,  ARGS, force,             RECORD_OMIT),
    RECORD("dry_run",          BOOL,  ARGS, dry_run,           RECORD_OMIT),
    { 0 },
};
#undef ARGS
static const struct record_field ping_fields[] = { { 0 } };
#define ARGS struct request_shutdown
static const struct record_field shutdown_fields[] = {
    RECORD("leave_running",    BOOL,  ARGS, leave_running,     RECORD_OMIT),
    { 0 },
};
#undef ARGS
#define ARGS struct request_cancel
static const struct record_field cancel_fields[] = {
    RECORD("id",               INT,   ARGS, id,                RECORD_REQUIRED),
    { 0 },
};
#undef ARGS

#define ANY(word, type, table)    .record = RECORD_TYPE(word, type, table, RECORD_REFUSE_UNKNOWN | RECORD_LENIENT)
#define CONFIG(word, type, table) .record = RECORD_TYPE(word, type, table, RECORD_REFUSE_UNKNOWN | RECORD_LENIENT, .check = check_config)
static const struct request requests[REQUEST_KINDS] = {
    [REQUEST_PING]     = { ANY   ("ping",      struct request_ping,     ping_fields), .late = true },
    [REQUEST_LIST]     = { CONFIG("list",      struct request_ask,      ask_fields), .scope = REQUEST_CONFIG, .right = RIGHT_STATUS },
    [REQUEST_STATUS]   = { CONFIG("status",    struct request_ask,      ask_fields), .scope = REQUEST_CONFIG, .right = RIGHT_STATUS },
    [REQUEST_START]    = { CONFIG("start",     struct request_start,    start_fields), .acts = true, .scope = REQUEST_CONFIG, .right = RIGHT_START },
    [REQUEST_RUN]      = { CONFIG("run",       struct request_start,    start_fields), .acts = true, .scope = REQUEST_CONFIG, .right = RIGHT_RUN },
    [REQUEST_STOP]     = { CONFIG("stop",      struct request_stop,     stop_fields), .acts = true, .scope = REQUEST_CONFIG, .right = RIGHT_STOP },
    [REQUEST_RESTART]  = { CONFIG("restart",   struct request_start,    start_fields), .acts = true, .scope = REQUEST_CONFIG, .right = RIGHT_RESTART },
    [REQUEST_RELOAD]   = { CONFIG("reload",    struct request_ask,      ask_fields), .acts = true, .scope = REQUEST_CONFIG, .right = RIGHT_RESTART },
    [REQUEST_RECREATE] = { CONFIG("recreate",  struct request_start,    start_fields), .acts = true, .scope = REQUEST_CONFIG, .right = RIGHT_RECREATE },
    [REQUEST_DIFF]     = { CONFIG("diff",      struct request_apply,    apply_fields), .waits = true, .scope = REQUEST_CONFIG, .right = RIGHT_INSPECT },
    [REQUEST_APPLY]    = { CONFIG("apply",     struct request_apply,    apply_fields), .acts = true, .scope = REQUEST_CONFIG, .right = RIGHT_RUN },
    [REQUEST_LOGS]     = { CONFIG("logs",      struct request_logs,     logs_fields), .scope = REQUEST_CONFIG, .right = RIGHT_LOGS },
    [REQUEST_METRICS]  = { CONFIG("metrics",   struct request_metrics,  metrics_fields), .waits = true, .scope = REQUEST_CONFIG, .right = RIGHT_MONITOR },
    [REQUEST_INSPECT]  = { CONFIG("inspect",   struct request_ask,      ask_fields), .scope = REQUEST_CONFIG, .right = RIGHT_INSPECT },
    [REQUEST_WHY]      = { CONFIG("why",       struct request_ask,      ask_fields), .scope = REQUEST_CONFIG, .right = RIGHT_STATUS },
    [REQUEST_EVENTS]   = { CONFIG("events",    struct request_ask,      ask_fields), .scope = REQUEST_CONFIG, .right = RIGHT_SUBSCRIBE },
    [REQUEST_RIGHTS]   = { CONFIG("rights",    struct request_rights,   rights_fields) },
    [REQUEST_CHECK]    = { CONFIG("check",     struct request_check,    check_fields) },
    [REQUEST_WAIT]     = { CONFIG("wait",      struct request_wait,     wait_fields), .waits = true, .scope = REQUEST_CONFIG, .right = RIGHT_READINESS },
    [REQUEST_PRUNE]    = { ANY   ("prune",     struct request_prune,    prune_fields), .acts = true, .scope = REQUEST_DAEMON },
    [REQUEST_SHUTDOWN] = { ANY   ("shutdown",  struct request_shutdown, shutdown_fields), .acts = true, .late = true, .scope = REQUEST_DAEMON },
    [REQUEST_CANCEL]   = { ANY   ("cancel",    struct request_cancel,   cancel_fields) },
};

/* Fields that need an additional right when they are set. */
enum set_kind { SET_FLAG, SET_TEXT, SET_TEXTS };
#define NEEDS(word, kind, type, field, name) { REQUEST_##word, SET_##kind, offsetof(struct request_##type, field), RIGHT_##name }
static const struct {
    enum request_kind request;
    enum set_kind kind;
    size_t offset;
    enum right right;
} needs[] = {
    NEEDS(START,    FLAG,  start, no_deps,      START_NO_DEPS),
    NEEDS(START,    FLAG,  start, refresh_env,  START_ENV),
    NEEDS(START,    TEXTS, start, overrides,    START_ENV),
    NEEDS(START,    TEXTS, start, flags,        START_ENV),
    NEEDS(START,    TEXT,  start, hardening,    START_HARDENING),
    NEEDS(START,    FLAG,  start, logs,         LOGS),
    NEEDS(RUN,      FLAG,  start, no_deps,      RUN_NO_DEPS),
    NEEDS(RUN,      FLAG,  start, refresh_env,  RUN_ENV),
    NEEDS(RUN,      TEXTS, start, overrides,    RUN_ENV),
    NEEDS(RUN,      TEXTS, start, flags,        RUN_ENV),
    NEEDS(RUN,      TEXT,  start, hardening,    RUN_HARDENING),
    NEEDS(RUN,      FLAG,  start, start_clean,  RUN_START_CLEAN),
    NEEDS(RUN,      FLAG,  start, logs,         LOGS),
    NEEDS(RESTART,  FLAG,  start, no_deps,      RESTART_NO_DEPS),
    NEEDS(RESTART,  FLAG,  start, refresh_env,  RESTART_ENV),
    NEEDS(RESTART,  TEXTS, start, overrides,    RESTART_ENV),
    NEEDS(RESTART,  TEXTS, start, flags,        RESTART_ENV),
    NEEDS(RESTART,  FLAG,  start, follow,       SUBSCRIBE),
    NEEDS(RESTART,  FLAG,  start, logs,         LOGS),
    NEEDS(DIFF,     TEXT,  apply, start.config, INSPECT_SERVICES),
    NEEDS(APPLY,    FLAG,  apply, ready,        READINESS),
    NEEDS(RECREATE, FLAG,  start, refresh_env,  RECREATE_ENV),
    NEEDS(RECREATE, TEXTS, start, overrides,    RECREATE_ENV),
    NEEDS(RECREATE, TEXTS, start, flags,        RECREATE_ENV),
    NEEDS(RECREATE, TEXT,  start, hardening,    RECREATE_HARDENING),
    NEEDS(RECREATE, FLAG,  start, logs,         LOGS),
    NEEDS(STOP,     FLAG,  stop,  clean,        STOP_CLEAN),
    NEEDS(STOP,     TEXT,  stop,  signal,       STOP_SIGNAL),
    NEEDS(LOGS,     TEXT,  logs,  query,        LOGS_SEARCH),
    NEEDS(LOGS,     FLAG,  logs,  sql,          LOGS_SEARCH_SQL),
    NEEDS(METRICS,  TEXT,  metrics, query,      MONITOR_SEARCH),
    NEEDS(METRICS,  FLAG,  metrics, sql,        MONITOR_SEARCH_SQL),
    NEEDS(STATUS,   FLAG,  ask,   with_text,    INSPECT_SERVICES),
};
/* clang-format on */

const struct request *request_get(enum request_kind kind)
{
    return &requests[kind];
}

bool request_find(const char *name, enum request_kind *ret_kind)
{
    for (int i = 0; i < REQUEST_KINDS; i++)
        if (strcmp(requests[i].record.name, name) == 0) {
            *ret_kind = (enum request_kind)i;
            return true;
        }
    return false;
}

static bool is_parameter_set(enum set_kind kind, const void *field)
{
    switch (kind) {
    case SET_FLAG: return *(const bool *)field;
    case SET_TEXT: return *(const char *const *)field != NULL;
    case SET_TEXTS: return ((const struct param_strs *)field)->n > 0;
    }
    return true;
}

uint64_t request_rights(enum request_kind kind, const void *args)
{
    uint64_t set = RIGHT_BIT(requests[kind].right);

    if (requests[kind].scope != REQUEST_CONFIG)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(needs); i++)
        if (needs[i].request == kind &&
            is_parameter_set(needs[i].kind, (const char *)args + needs[i].offset))
            set |= RIGHT_BIT(needs[i].right);
    return set;
}

const char *request_config(enum request_kind kind, const void *args)
{
    return requests[kind].scope == REQUEST_CONFIG ? *(const char *const *)args : NULL;
}

struct value request_encode(struct arena *arena, enum request_kind kind, const void *args)
{
    return record_value(arena, &requests[kind].record, args);
}

int request_decode(struct arena *arena, enum request_kind kind, const struct value *body,
                   void **ret_args, struct err *err)
{
    const struct request *request = &requests[kind];
    void *args = arena_zalloc(arena, request->record.size);

    if (record_read(arena, &request->record, MESSAGE_PROTOCOL, body, args, err) < 0)
        return err_wrap(err, "%s", request->record.name);
    *ret_args = args;
    return 0;
}
