/* Resource usage of services: current or stored. */
#include <string.h>

#include "core/base/err.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/call_access.h"
#include "kepler/daemon/metrics_reading.h"
#include "kepler/daemon/monitor.h"
#include "kepler/daemon/project.h"
#include "kepler/daemon/state_file.h"
#include "kepler/monitor/metric_search.h"
#include "core/sql/sql_query.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* --- now ------------------------------------------------------------------------------------ */

static bool is_service_selected(const struct param_strs *names, const char *service)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->p[i], service) == 0)
            return true;
    return names->n == 0;
}

static struct value live_value(struct call *call)
{
    const struct request_metrics *args = call->args;
    struct value_list *list = value_list_new(&call->arena, 8);

    VEC_EACH (&monitor_metrics(call->project->monitor)->list, metric)
        if (is_service_selected(&args->services, metric->service))
            value_list_push(&call->arena, list, metrics_reading_value(&call->arena, metric));
    return metrics_reading_body(&call->arena, list, false);
}

static void step_live(struct call *call)
{
    if (!call->project) {
        call->step = NULL;
        call_say(call, "the config was unloaded");
        return;
    }
    if (!monitor_has_looked(call->project->monitor, call->ticket))
        return;
    call->step = NULL;
    call_finish(call, live_value(call));
}

static void begin_live(struct call *call, const char *config)
{
    if (!call->project) {
        call_refuse(call, MESSAGE_ERROR, "'%s' is not loaded: start it first", config);
        return;
    }
    call->ticket = monitor_look(call->project->monitor);
    call->step = step_live;
    call->project->settled = true; /* it may have been looked at just now */
}

/* --- stored --------------------------------------------------------------------------------- */

/* NULL: the call is over, since the client may not read them. */
static const char *find_metrics_folder(struct call *call, const char *config)
{
    const char *folder = home_config(&call->arena, &call->daemon->home, config);
    const char *metrics = path_join(&call->arena, folder, "monitor");
    const struct state_file *record = NULL;
    struct fs_info info;
    struct err err;
    uid_t owner;

    if (call->project || (fs_lstat(folder, &info, &err) == 0 && info.kind == FS_NONE))
        return metrics;
    owner =
        state_file_load(&call->arena, folder, &record, &err) == 0 && record ? record->owner_uid : 0;
    if (call_access_knows_owner(call, owner))
        return metrics;
    call_refuse_foreign(call, config, owner);
    return NULL;
}

static void begin_stored(struct call *call, const struct request_metrics *args)
{
    const struct metric_search search = {
        .folder = find_metrics_folder(call, args->config),
        .services = args->services.p,
        .service_count = args->services.n,
        .history = args->history > 0,
        .since = clock_wall() / CLOCK_MS - args->history,
        .bucket = args->bucket,
        .filter = args->query,
        .is_sql = args->sql,
    };

    if (search.folder)
        metrics_reading_begin(call, &search);
}

/* The worker that reads also checks the query. */
static int check_metrics_query(const struct request_metrics *args, struct err *err)
{
    return args->sql ? sql_query_check(str_from(args->query ? args->query : ""), err) : 0;
}

void handle_metrics(struct call *call)
{
    const struct request_metrics *args = call->args;
    struct engine_set set;
    struct err err;

    if (check_metrics_query(args, &err) < 0) {
        call_refuse(call, MESSAGE_ERROR, "the filter '%s': %s", args->query ? args->query : "",
                    err.text);
        return;
    }
    if (call_find_project(call, args->config) < 0 ||
        (call->project && call_find_services(call, args->services, &set) < 0))
        return;
    if (args->live)
        begin_live(call, args->config);
    else
        begin_stored(call, args);
}
