/* Stored lines, and those that come. */
#include "base/err.h"
#include "daemon/call.h"
#include "daemon/client.h"
#include "daemon/daemon.h"
#include "daemon/project.h"
#include "daemon/record.h"
#include "daemon/stream.h"
#include "logs/jsonline.h"
#include "sys/path.h"

/* The folder of the lines, if the client may read them. */
static const char *find_folder(struct call *call, const char *config)
{
    const char *folder = home_config(&call->arena, &call->daemon->home, config);
    const struct record *record;
    struct err err;

    if (call->project)
        return call->project->logs;
    if (record_load(&call->arena, folder, &record, &err) < 0)
        record = NULL;
    if (!client_may(call->client, record ? record->owner_uid : 0) || !record) {
        call_refuse(call, MESSAGE_UNKNOWN, "No logs of '%s' are known", config);
        return NULL;
    }
    return path_join(&call->arena, folder, "logs");
}

/* The levels from `name` on, as bits; 0 when there is no such level. */
static unsigned levels_from(const char *name)
{
    enum jsonline_level level;

    if (!jsonline_level_find(str_from(name), &level))
        return 0;
    return ((1U << JSONLINE_LEVELS) - 1) & ~((1U << level) - 1);
}

void handle_logs(struct call *call)
{
    const struct request_logs *args = call->args;
    struct stream_options options = {
        .filter = { .services = args->services.p,
                    .service_count = args->services.n,
                    .hook = args->hook,
                    .levels = args->level ? levels_from(args->level) : 0,
                    .no_hooks = args->no_hook },
        .has_head = args->has_head,
        .has_tail = args->has_tail,
        .head = (uint64_t)args->head,
        .tail = (uint64_t)args->tail,
    };
    struct engine_set set;
    struct err err;

    if (args->level && !options.filter.levels) {
        call_refuse(call, MESSAGE_ERROR, "no level '%s'", args->level);
        return;
    }
    if (call_find_project(call, args->config) < 0)
        return;
    options.folder = find_folder(call, args->config);
    if (!options.folder)
        return;
    options.follow = args->follow && call->project;
    if (args->follow && !call->project)
        call_event(call, "unloaded", value_null());
    if (call->project) {
        if (project_find(call->project, args->services, &call->arena, &set, &err) < 0) {
            call_fail(call, &err);
            return;
        }
        capture_flush(&call->project->capture);
    }
    if (stream_new(&options, &call->stream, &err) < 0)
        call_fail(call, &err);
    else
        call_pump(call);
}
