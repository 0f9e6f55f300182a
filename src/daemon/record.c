#include "daemon/record.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "data/json.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/path.h"
#include "sys/signals.h"

static void add(struct arena *arena, struct value_map *map, const char *key, struct value v)
{
    value_map_append(arena, map, value_text(key), v);
}

static struct value seconds(int64_t ns)
{
    return ns > 0 ? value_int(ns / CLOCK_SECOND) : value_null();
}

static struct value reason_for(enum status wanted, const struct service_record *record,
                               const char *reason)
{
    if (record->status != wanted || !reason || !reason[0])
        return value_null();
    return value_text(reason);
}

struct value record_service_value(struct arena *arena, const struct service_record *record,
                                  const char *reason)
{
    struct value_map *map = value_map_new(arena, 16);
    const char *signal = record->signal > 0 ? signal_name(record->signal) : NULL;

    add(arena, map, "status", value_text(status_name(record->status)));
    add(arena, map, "pid", record->pid > 0 ? value_int(record->pid) : value_null());
    add(arena, map, "started_at", seconds(record->started_at));
    add(arena, map, "stopped_at", seconds(record->stopped_at));
    add(arena, map, "health_check_failures", value_int(record->check_failures));
    add(arena, map, "exit_code",
        record->has_exit_code ? value_int(record->exit_code) : value_null());
    add(arena, map, "signal", record->signal > 0 ? value_int(record->signal) : value_null());
    add(arena, map, "signal_name", signal ? value_text(signal) : value_null());
    add(arena, map, "initialized", value_bool(record->initialized));
    add(arena, map, "skip_reason", reason_for(STATUS_SKIPPED, record, reason));
    add(arena, map, "fail_reason", reason_for(STATUS_FAILED, record, reason));
    add(arena, map, "stop_reason", reason_for(STATUS_STOPPED, record, reason));
    add(arena, map, "restart_count", value_int(record->restarts));
    add(arena, map, "restart_count_since_healthy", value_int(record->restarts_since_healthy));
    add(arena, map, "was_healthy", value_bool(record->was_healthy));
    return value_map(map);
}

void record_settle(struct record_service *service)
{
    service->record.pid = 0;
    service->record.started_at = 0;
    if (!status_is_active(service->record.status))
        return;
    service->record.status = STATUS_STOPPED;
    service->reason = SERVICE_LOST;
}

/* --- printing ------------------------------------------------------------------------- */

int record_print(struct buf *out, const struct record *record, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct value_map *whole = value_map_new(&arena, 8);
    struct value_map *services = value_map_new(&arena, record->services.n);
    struct value v;

    VEC_EACH (&record->services, service)
        add(&arena, services, service->name,
            record_service_value(&arena, &service->record, service->reason));
    add(&arena, whole, "services", value_map(services));
    add(&arena, whole, "config_initialized", value_bool(record->config_initialized));
    add(&arena, whole, "snapshot_time",
        record->snapshot_time > 0 ? value_int(record->snapshot_time) : value_null());
    add(&arena, whole, "owner_uid", value_int(record->owner_uid));
    add(&arena, whole, "owner_gid", value_int(record->owner_gid));
    v = value_map(whole);
    return json_print(out, &v, JSON_STYLE_PRETTY, err);
}

/* --- reading -------------------------------------------------------------------------- */

static int64_t get_int(const struct value *map, const char *key)
{
    const struct value *v = value_get(map, key);

    return v && value_is(v, VALUE_INT) && v->i >= 0 ? v->i : 0;
}

static bool get_bool(const struct value *map, const char *key)
{
    const struct value *v = value_get(map, key);

    return v && value_is(v, VALUE_BOOL) && v->b;
}

static const char *get_text(const struct value *map, const char *key)
{
    const struct value *v = value_get(map, key);

    return v && value_is(v, VALUE_STR) ? v->s.p : NULL;
}

/* Seconds that cannot be nanoseconds are no time that a daemon wrote. */
static int64_t get_time(const struct value *map, const char *key)
{
    int64_t s = get_int(map, key);

    return s > INT64_MAX / CLOCK_SECOND ? 0 : s * CLOCK_SECOND;
}

static int read_service(const char *name, const struct value *v, struct record_service *ret,
                        struct err *err)
{
    const char *status = get_text(v, "status"), *reason = get_text(v, "skip_reason");
    const struct value *code = value_get(v, "exit_code");

    *ret = (struct record_service){ .name = name };
    if (!status || status_parse(str_from(status), &ret->record.status) < 0)
        return err_set(err, ERR_INVALID, "service '%s' has no status", name);
    reason = reason ? reason : get_text(v, "fail_reason");
    ret->reason = reason ? reason : get_text(v, "stop_reason");
    ret->record.pid = (pid_t)get_int(v, "pid");
    ret->record.started_at = get_time(v, "started_at");
    ret->record.stopped_at = get_time(v, "stopped_at");
    ret->record.has_exit_code = code && value_is(code, VALUE_INT);
    ret->record.exit_code = ret->record.has_exit_code ? (int)code->i : 0;
    ret->record.signal = (int)get_int(v, "signal");
    ret->record.restarts = (uint32_t)get_int(v, "restart_count");
    ret->record.restarts_since_healthy = (uint32_t)get_int(v, "restart_count_since_healthy");
    ret->record.check_failures = (uint32_t)get_int(v, "health_check_failures");
    ret->record.initialized = get_bool(v, "initialized");
    ret->record.was_healthy = get_bool(v, "was_healthy");
    return 0;
}

int record_parse(struct arena *arena, struct str text, struct record *ret_record, struct err *err)
{
    const struct value *services;
    struct record record = { 0 };
    struct value whole;

    if (json_decode(arena, text, &whole, err) < 0)
        return -1;
    services = value_get(&whole, "services");
    if (!services || !value_is(services, VALUE_MAP))
        return err_set(err, ERR_INVALID, "'services' is missing");
    for (size_t i = 0; i < services->map->count; i++) {
        const struct value_pair *pair = &services->map->pairs[i];
        struct record_service service;

        if (!value_is(&pair->key, VALUE_STR))
            return err_set(err, ERR_INVALID, "a service without a name");
        if (read_service(pair->key.s.p, &pair->value, &service, err) < 0)
            return -1;
        VEC_PUSH_IN(arena, &record.services, service);
    }
    record.config_initialized = get_bool(&whole, "config_initialized");
    record.snapshot_time = get_int(&whole, "snapshot_time");
    record.owner_uid = (uid_t)get_int(&whole, "owner_uid");
    record.owner_gid = (gid_t)get_int(&whole, "owner_gid");
    *ret_record = record;
    return 0;
}

/* --- files ---------------------------------------------------------------------------- */

int record_save(const char *folder, const struct record *record, struct err *err)
{
    const struct fs_replace_options how = { .attr = { 0600, FS_KEEP, FS_KEEP },
                                            .sync = FS_NO_SYNC };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(RECORD_FILE_MAX);

    if (record_print(&text, record, err) < 0)
        return err_wrap(err, "keep the state of services");
    buf_add_char(&text, '\n');
    return fs_replace(path_join(&arena, folder, RECORD_FILE), buf_view(&text), &how, err);
}

int record_load(struct arena *arena, const char *folder, const struct record **ret_record,
                struct err *err)
{
    const char *path = path_join(arena, folder, RECORD_FILE);
    struct record *record = ARENA_NEW(arena, struct record);
    struct str text;

    *ret_record = NULL;
    if (fs_read(arena, path, RECORD_FILE_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return 0;
    if (record_parse(arena, text, record, err) < 0)
        return err_wrap(err, "read '%s'", path);
    *ret_record = record;
    return 0;
}

const struct record_service *record_find(const struct record *record, const char *name)
{
    VEC_EACH (&record->services, service)
        if (strcmp(service->name, name) == 0)
            return service;
    return NULL;
}
