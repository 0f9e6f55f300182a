#include "control/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/err.h"

/* clang-format off */
#define ARGS struct request_start
static const struct param start_params[] = {
    PARAM("config",      PATH, ARGS, config, "canonical path of the file", .flags = PARAM_REQUIRED),
    PARAM("services",    STRS, ARGS, services, "which; none: all"),
    PARAM("no_deps",     BOOL, ARGS, no_deps, "do not wait for dependencies"),
    PARAM("refresh_env", BOOL, ARGS, refresh_env, "take the caller's environment on top"),
    PARAM("start_clean", BOOL, ARGS, start_clean, "remove stored lines too"),
    PARAM("follow",      BOOL, ARGS, follow, "tell what happens"),
    PARAM("logs",        BOOL, ARGS, logs, "tell what services write"),
    PARAM("progress",    BOOL, ARGS, progress, "tell what happens, until the reply"),
    PARAM("environment", STRS, ARGS, environment, "of the caller"),
    PARAM("overrides",   STRS, ARGS, overrides, "K=V on top of the environment"),
    PARAM("flags",       STRS, ARGS, flags, "K=V for expressions"),
    { 0 },
};
#undef ARGS
#define ARGS struct request_stop
static const struct param stop_params[] = {
    PARAM("config",   PATH, ARGS, config, "canonical path of the file", .flags = PARAM_REQUIRED),
    PARAM("services", STRS, ARGS, services, "which; none: all"),
    PARAM("clean",    BOOL, ARGS, clean, "forget the config and all that is stored of it"),
    PARAM("progress", BOOL, ARGS, progress, "tell what happens, until the reply"),
    PARAM("keep_logs", BOOL, ARGS, keep_logs, "whatever retention.on_stop says"),
    PARAM("signal",   STR,  ARGS, signal, "instead of each service's own"),
    PARAM("because",  STR,  ARGS, because, "why, in words that are kept with what comes of it"),
    { 0 },
};
#undef ARGS
#define ARGS struct request_logs
static const struct param logs_params[] = {
    PARAM("config",   PATH, ARGS, config, "canonical path of the file", .flags = PARAM_REQUIRED),
    PARAM("services", STRS, ARGS, services, "which; none: all"),
    PARAM("follow",   BOOL, ARGS, follow, "go on with what comes"),
    PARAM("no_hook",  BOOL, ARGS, no_hook, "without lines of hooks"),
    PARAM("hook",     STR,  ARGS, hook, "lines of this hook only"),
    PARAM("level",    STR,  ARGS, level, "lines of this level and above"),
    PARAM("head",     INT,  ARGS, head, "the first lines", PARAM_GIVEN(ARGS, has_head), PARAM_RANGE(0, INT64_MAX)),
    PARAM("tail",     INT,  ARGS, tail, "the last lines", PARAM_GIVEN(ARGS, has_tail), PARAM_RANGE(0, INT64_MAX)),
    { 0 },
};
#undef ARGS
#define ARGS struct request_ask
static const struct param ask_params[] = {
    PARAM("config",           PATH, ARGS, config, "canonical path of the file; none: all"),
    PARAM("services",         STRS, ARGS, services, "which; none: all"),
    PARAM("with_services",    BOOL, ARGS, with_services, "show services"),
    PARAM("with_environment", BOOL, ARGS, with_environment, "show environments"),
    PARAM("with_flags",       BOOL, ARGS, with_flags, "show flags"),
    { 0 },
};
#undef ARGS
#define ARGS struct request_prune
static const struct param prune_params[] = {
    PARAM("force",   BOOL, ARGS, force, "stop what runs"),
    PARAM("dry_run", BOOL, ARGS, dry_run, "only tell"),
    { 0 },
};
#undef ARGS
static const struct param ping_params[] = { { 0 } };
#define ARGS struct request_shutdown
static const struct param shutdown_params[] = {
    PARAM("leave_running", BOOL, ARGS, leave_running, "do not stop services"),
    { 0 },
};
#undef ARGS
#define ARGS struct request_cancel
static const struct param cancel_params[] = {
    PARAM("id", INT, ARGS, id, "of the request that is to end", .flags = PARAM_REQUIRED),
    { 0 },
};
#undef ARGS

static const struct request requests[REQUEST_KINDS] = {
    [REQUEST_PING]     = { "ping",     ping_params,     0, .late = true },
    [REQUEST_LIST]     = { "list",     ask_params,      sizeof(struct request_ask), .acts = false },
    [REQUEST_STATUS]   = { "status",   ask_params,      sizeof(struct request_ask), .acts = false },
    [REQUEST_START]    = { "start",    start_params,    sizeof(struct request_start), .acts = true },
    [REQUEST_RUN]      = { "run",      start_params,    sizeof(struct request_start), .acts = true },
    [REQUEST_STOP]     = { "stop",     stop_params,     sizeof(struct request_stop), .acts = true },
    [REQUEST_RESTART]  = { "restart",  start_params,    sizeof(struct request_start), .acts = true },
    [REQUEST_RECREATE] = { "recreate", start_params,    sizeof(struct request_start), .acts = true },
    [REQUEST_LOGS]     = { "logs",     logs_params,     sizeof(struct request_logs), .acts = false },
    [REQUEST_INSPECT]  = { "inspect",  ask_params,      sizeof(struct request_ask), .acts = false },
    [REQUEST_WHY]      = { "why",      ask_params,      sizeof(struct request_ask), .acts = false },
    [REQUEST_PRUNE]    = { "prune",    prune_params,    sizeof(struct request_prune), .acts = true },
    [REQUEST_SHUTDOWN] = { "shutdown", shutdown_params, sizeof(struct request_shutdown), .acts = true, .late = true },
    [REQUEST_CANCEL]   = { "cancel",   cancel_params,   sizeof(struct request_cancel), .acts = false },
};
/* clang-format on */

const struct request *request_get(enum request_kind kind)
{
    return &requests[kind];
}

bool request_find(const char *name, enum request_kind *ret_kind)
{
    for (int i = 0; i < REQUEST_KINDS; i++)
        if (strcmp(requests[i].name, name) == 0) {
            *ret_kind = (enum request_kind)i;
            return true;
        }
    return false;
}

static struct value encode_strs(struct arena *arena, const struct param_strs *strs)
{
    struct value_list *list = value_list_new(arena, strs->n);

    for (size_t i = 0; i < strs->n; i++)
        value_list_push(arena, list, value_text(strs->p[i]));
    return value_list(list);
}

/* Null: the field says nothing. */
static struct value encode_field(struct arena *arena, const struct param *param, const char *args)
{
    const void *field = args + param->offset;
    const char *text;

    switch (param->kind) {
    case PARAM_BOOL: return *(const bool *)field ? value_bool(true) : value_null();
    case PARAM_INT:
        if (param->given && !*(const bool *)(args + param->given - 1))
            return value_null();
        return value_int(*(const int64_t *)field);
    case PARAM_STR:
    case PARAM_PATH:
        text = *(const char *const *)field;
        return text ? value_text(text) : value_null();
    case PARAM_STRS:
        if (((const struct param_strs *)field)->n == 0)
            return value_null();
        return encode_strs(arena, field);
    default: abort(); /* a kind that no table above uses */
    }
}

struct value request_encode(struct arena *arena, enum request_kind kind, const void *args)
{
    struct value_map *map = value_map_new(arena, 0);

    for (const struct param *p = requests[kind].params; p->name; p++) {
        struct value v = encode_field(arena, p, args);

        if (!value_is(&v, VALUE_NULL))
            value_map_set(arena, map, value_text(p->name), v);
    }
    return value_map(map);
}

int request_decode(struct arena *arena, enum request_kind kind, const struct value *body,
                   void **ret_args, struct err *err)
{
    const struct request *request = &requests[kind];
    const struct params_policy policy = { .strict = true, .owner = request->name, .noun = "key" };
    struct diags diags = DIAGS_INIT(arena);
    void *args = arena_zalloc(arena, request->size);

    if (params_decode(arena, request->params, &policy, body, args, &diags) < 0)
        return diags_to_err(&diags, err);
    *ret_args = args;
    return 0;
}
