#include "kepler/daemon/state_file.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/record.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/signals.h"

/* A service as stored in the file: data derived from its record is written and not read. */
struct stored_service {
    const char *name;
    struct service_record record;
    enum service_goal goal;
    bool has_goal; /* files of earlier versions have none */
    const char *signal_name, *skip_reason, *fail_reason, *stop_reason, *wait_reason;
};

struct stored {
    VEC(struct stored_service) services;
    bool config_initialized;
    int64_t snapshot_time;
    uid_t owner_uid;
    gid_t owner_gid;
};

static const char *const goal_words[SERVICE_GOALS] = {
    [GOAL_DOWN] = "down",
    [GOAL_UP] = "up",
    [GOAL_ENDED] = "ended",
};

/* clang-format off */
#define ARGS struct stored_service
static const struct record_field service_fields[] = {
    RECORD("name",                        TEXT, ARGS, name,                          RECORD_REQUIRED),
    RECORD("goal",                        WORD, ARGS, goal,                          0, .words = goal_words, .word_count = SERVICE_GOALS, RECORD_GIVEN(ARGS, has_goal)),
    RECORD("status",                      WORD, ARGS, record.status,                 RECORD_REQUIRED, .words = status_words, .word_count = STATUSES),
    RECORD("pid",                         INT,  ARGS, record.pid,                    RECORD_NIL, RECORD_RANGE(0, INT32_MAX)),
    RECORD("started_at",                  INT,  ARGS, record.started_at,             RECORD_NIL, .unit = CLOCK_SECOND),
    RECORD("stopped_at",                  INT,  ARGS, record.stopped_at,             RECORD_NIL, .unit = CLOCK_SECOND),
    RECORD("health_check_failures",       INT,  ARGS, record.check_failures,         0),
    RECORD("exit_code",                   INT,  ARGS, record.exit_code,              0, RECORD_GIVEN(ARGS, record.has_exit_code)),
    RECORD("signal",                      INT,  ARGS, record.signal,                 RECORD_NIL, RECORD_RANGE(0, INT32_MAX)),
    RECORD("signal_name",                 TEXT, ARGS, signal_name,                   RECORD_NIL),
    RECORD("initialized",                 BOOL, ARGS, record.initialized,            0),
    RECORD("skip_reason",                 TEXT, ARGS, skip_reason,                   RECORD_NIL),
    RECORD("fail_reason",                 TEXT, ARGS, fail_reason,                   RECORD_NIL),
    RECORD("stop_reason",                 TEXT, ARGS, stop_reason,                   RECORD_NIL),
    RECORD("wait_reason",                 TEXT, ARGS, wait_reason,                   RECORD_OMIT),
    RECORD("restart_count",               INT,  ARGS, record.restarts,               0),
    RECORD("restart_count_since_healthy", INT,  ARGS, record.restarts_since_healthy, 0),
    RECORD("was_healthy",                 BOOL, ARGS, record.was_healthy,            0),
    { 0 },
};
static const struct record_type service_type = RECORD_TYPE("service", ARGS, service_fields, 0);
/* The same without name and goal, for maps by name. */
static const struct record_type shown_type = RECORD_TYPE("service", ARGS, service_fields + 2, 0);
#undef ARGS
#define ARGS struct stored
static const struct record_field stored_fields[] = {
    RECORD("services",           NAMED, ARGS, services,           RECORD_REQUIRED, .inner = &service_type),
    RECORD("config_initialized", BOOL,  ARGS, config_initialized, 0),
    RECORD("snapshot_time",      INT,   ARGS, snapshot_time,      RECORD_NIL, RECORD_RANGE(0, INT64_MAX)),
    RECORD("owner_uid",          INT,   ARGS, owner_uid,          0),
    RECORD("owner_gid",          INT,   ARGS, owner_gid,          0),
    { 0 },
};
static const struct record_type stored_type = RECORD_TYPE("state", ARGS, stored_fields, 0);
/* clang-format on */

static const char *reason_for(enum status wanted, const struct service_record *record,
                              const char *reason)
{
    return record->status == wanted && reason && reason[0] ? reason : NULL;
}

static struct stored_service
make_stored_service(const char *name, const struct service_record *record, const char *reason)
{
    return (struct stored_service){
        .name = name,
        .record = *record,
        .signal_name = record->signal > 0 ? signal_name(record->signal) : NULL,
        .skip_reason = reason_for(STATUS_SKIPPED, record, reason),
        .fail_reason = reason_for(STATUS_FAILED, record, reason),
        .stop_reason = reason_for(STATUS_STOPPED, record, reason),
        .wait_reason = reason_for(STATUS_WAITING, record, reason),
    };
}

struct value state_file_service_value(struct arena *arena, const struct service_record *record,
                                      const char *reason)
{
    const struct stored_service stored = make_stored_service(NULL, record, reason);

    return record_value(arena, &shown_type, &stored);
}

void state_file_settle(struct state_file_service *service)
{
    service->record.pid = 0;
    service->record.started_at = 0;
    if (!status_is_active(service->record.status))
        return;
    if (service->goal == GOAL_ENDED) {
        service->record.status = service->record.signal ? STATUS_KILLED : STATUS_EXITED;
        service->record.stopped_at = clock_wall();
        return;
    }
    service->record.status = STATUS_STOPPED;
    service->record.has_exit_code = false; /* from an earlier run, if any */
    service->record.exit_code = service->record.signal = 0;
    service->reason = SERVICE_LOST;
}

/* --- printing and reading --------------------------------------------------------------- */

int state_file_print(struct buf *out, const struct state_file *record, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct stored stored = {
        .config_initialized = record->config_initialized,
        .snapshot_time = record->snapshot_time,
        .owner_uid = record->owner_uid,
        .owner_gid = record->owner_gid,
    };
    struct value v;

    VEC_EACH (&record->services, service) {
        struct stored_service one =
            make_stored_service(service->name, &service->record, service->reason);

        one.goal = service->goal;
        one.has_goal = true;
        VEC_PUSH_IN(&arena, &stored.services, one);
    }
    v = record_value(&arena, &stored_type, &stored);
    return json_print(out, &v, JSON_STYLE_PRETTY, err);
}

static enum service_goal find_goal(const struct stored_service *service)
{
    enum status status = service->record.status;

    if (service->has_goal)
        return service->goal;
    return status_is_active(status) && status != STATUS_STOPPING ? GOAL_UP : GOAL_DOWN;
}

int state_file_parse(struct arena *arena, struct str text, struct state_file *ret_record,
                     struct err *err)
{
    struct state_file record = { 0 };
    struct stored stored;
    struct value whole;

    if (json_decode(arena, text, &whole, err) < 0 ||
        record_read(arena, &stored_type, 0, &whole, &stored, err) < 0)
        return -1;
    VEC_EACH (&stored.services, service) {
        const char *reason = service->skip_reason   ? service->skip_reason
                             : service->fail_reason ? service->fail_reason
                                                    : service->stop_reason;

        VEC_PUSH_IN(arena, &record.services,
                    ((struct state_file_service){ service->name, service->record, reason,
                                                  find_goal(service) }));
    }
    record.config_initialized = stored.config_initialized;
    record.snapshot_time = stored.snapshot_time;
    record.owner_uid = stored.owner_uid;
    record.owner_gid = stored.owner_gid;
    *ret_record = record;
    return 0;
}

/* --- files ---------------------------------------------------------------------------- */

int state_file_save(const char *folder, const struct state_file *record, struct err *err)
{
    const struct fs_replace_options how = { .attr = { 0600, FS_KEEP, FS_KEEP },
                                            .sync = FS_NO_SYNC };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf text = BUF_INIT(STATE_FILE_MAX);

    if (state_file_print(&text, record, err) < 0)
        return err_wrap(err, "store the state of services");
    buf_add_char(&text, '\n');
    return fs_replace(path_join(&arena, folder, STATE_FILE), buf_view(&text), &how, err);
}

int state_file_load(struct arena *arena, const char *folder, const struct state_file **ret_record,
                    struct err *err)
{
    const char *path = path_join(arena, folder, STATE_FILE);
    struct state_file *record = ARENA_NEW(arena, struct state_file);
    struct str text;

    *ret_record = NULL;
    if (fs_read(arena, path, STATE_FILE_MAX, &text, err) < 0)
        return -1;
    if (!text.p)
        return 0;
    if (state_file_parse(arena, text, record, err) < 0)
        return err_wrap(err, "read '%s'", path);
    *ret_record = record;
    return 0;
}

const struct state_file_service *state_file_find(const struct state_file *record, const char *name)
{
    VEC_EACH (&record->services, service)
        if (strcmp(service->name, name) == 0)
            return service;
    return NULL;
}
