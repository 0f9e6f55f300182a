/* Stored and new lines. */
#include "core/base/err.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/call_access.h"
#include "kepler/daemon/project.h"
#include "kepler/daemon/state_file.h"
#include "kepler/daemon/stream.h"
#include "kepler/logs/jsonline.h"
#include "kepler/logs/log_query.h"
#include "core/sql/sql_query.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* The folder of the lines. NULL: the call is over, since the client may not read them, or there are
 * none. */
static const char *find_logs_folder(struct call *call, const char *config)
{
    const char *folder = home_config(&call->arena, &call->daemon->home, config);
    const struct state_file *record;
    struct fs_info info;
    struct err err;
    uid_t owner;

    if (call->project)
        return call->project->logs;
    if (fs_lstat(folder, &info, &err) == 0 && info.kind == FS_NONE) {
        call_say(call, "No lines of '%s' are stored: start it first", config);
        return NULL;
    }
    owner =
        state_file_load(&call->arena, folder, &record, &err) == 0 && record ? record->owner_uid : 0;
    if (call_access_knows_owner(call, owner))
        return path_join(&call->arena, folder, "logs");
    call_refuse_foreign(call, config, owner);
    return NULL;
}

/* The levels from `name` on, as bits; 0 when there is no such level. */
static unsigned levels_from(const char *name)
{
    enum jsonline_level level;

    if (!jsonline_level_find(str_from(name), &level))
        return 0;
    return ((1U << JSONLINE_LEVELS) - 1) & ~((1U << level) - 1);
}

static struct stream_options make_stream_options(const struct call *call)
{
    const struct request_logs *args = call->args;

    return (struct stream_options){
        .filter = { .services = args->services.p,
                    .service_count = args->services.n,
                    .hook = args->hook,
                    .levels = args->level ? levels_from(args->level) : 0,
                    .no_hooks = args->no_hook,
                    .since = args->since,
                    .until = args->until },
        .query = args->query,
        .is_sql = args->sql,
        .has_head = args->has_head,
        .has_tail = args->has_tail,
        .head = (uint64_t)args->head,
        .tail = (uint64_t)args->tail,
        .follow = args->follow && call->project,
        .before = call->project ? capture_next_line(&call->project->capture) : 0,
    };
}

/* All that was written before the request is in the store: send it. */
static void step_logs(struct call *call)
{
    const struct request_logs *args = call->args;
    struct stream_options options = make_stream_options(call);

    if (call->project && !capture_is_flushed(&call->project->capture, call->ticket))
        return;
    call->step = NULL;
    if (!call->client) {
        call_free(call);
        return;
    }
    options.folder = find_logs_folder(call, args->config);
    if (!options.folder)
        return;
    if (args->follow && !call->project)
        call_event(call, "unloaded", value_null());
    call->stream = stream_new(&options, call);
    call_pump(call);
}

/* The worker that reads also checks the SQL. */
static int check_logs_query(struct call *call, const struct request_logs *args, struct err *err)
{
    const struct log_query *query;

    if (args->sql)
        return sql_query_check(str_from(args->query ? args->query : ""), err);
    return args->query ? log_query_parse(&call->arena, str_from(args->query), &query, err) : 0;
}

void handle_logs(struct call *call)
{
    const struct request_logs *args = call->args;
    struct engine_set set;
    struct err err;

    if (args->level && levels_from(args->level) == 0) {
        call_refuse(call, MESSAGE_ERROR, "unknown level '%s'", args->level);
        return;
    }
    if (check_logs_query(call, args, &err) < 0) {
        call_refuse(call, MESSAGE_ERROR, "the filter '%s': %s", args->query ? args->query : "",
                    err.text);
        return;
    }
    if (call_find_project(call, args->config) < 0)
        return;
    if (call->project) {
        if (call_find_services(call, args->services, &set) < 0)
            return;
        call->ticket = capture_flush(&call->project->capture);
        call->step = step_logs;
        return;
    }
    step_logs(call);
}
