/* Requests that stop or remove something: stop, prune, shutdown. */

#include "core/base/err.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/call_access.h"
#include "kepler/daemon/project.h"
#include "kepler/daemon/state_file.h"
#include "kepler/daemon/snapshot.h"
#include "kepler/daemon/stream.h"
#include "kepler/config/config.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/signals.h"
#include "core/sys/tree.h"

/* --- stop ----------------------------------------------------------------------------------- */

/* The client gets the last lines before the end: Ctrl+C in the foreground is a stop. */
static bool are_last_lines_sent(struct call *call)
{
    if (call->ticket == 0)
        call->ticket = capture_flush(&call->project->capture);
    if (!capture_is_flushed(&call->project->capture, call->ticket))
        return false;
    daemon_pump(call->daemon, call->project);
    for (const struct call *other = call->daemon->calls; other; other = other->next)
        if (call->client && other->client == call->client && other->project == call->project &&
            other->stream && stream_has_more(other->stream))
            return false;
    return true;
}

static void step_stop(struct call *call)
{
    const struct request_stop *args = call->args;
    struct project *project = call->project;
    const char *folder;
    struct err err;

    if (project && (!engine_is_stopped(project->engine, call->set) || !are_last_lines_sent(call)))
        return;
    call->step = NULL;
    if (project && args->clean && args->services.n == 0) {
        folder = arena_strdup(&call->arena, project->folder);
        call->project = NULL;
        daemon_unload(call->daemon, project);
        if (tree_remove(folder, &err) < 0) {
            call_fail(call, &err);
            return;
        }
    }
    call_finish(call, value_null());
}

/* A config that is not loaded has no processes, but may have data on disk. */
static void stop_unloaded(struct call *call)
{
    const struct request_stop *args = call->args;
    const char *folder = home_config(&call->arena, &call->daemon->home, args->config);
    const struct state_file *record;
    struct fs_info info;
    struct err err;

    if (fs_stat(folder, &info, &err) < 0 || info.kind == FS_NONE) {
        call_say(call, "'%s' is not known to the daemon", args->config);
        return;
    }
    if (!args->clean) {
        call_say(call, "'%s' is not loaded: none of its services run", args->config);
        return;
    }
    if (state_file_load(&call->arena, folder, &record, &err) < 0)
        record = NULL; /* root may remove what cannot be read */
    if (!call_access_knows_owner(call, record ? record->owner_uid : 0)) {
        call_refuse_foreign(call, args->config, record ? record->owner_uid : 0);
        return;
    }
    if (tree_remove(folder, &err) < 0)
        call_fail(call, &err);
    else
        call_finish(call, value_null());
}

void handle_stop(struct call *call)
{
    const struct request_stop *args = call->args;
    struct engine_stop how = { .clean = args->clean, .keep_logs = args->keep_logs };

    if (args->signal) {
        how.signal = signal_parse(str_from(args->signal));
        if (how.signal == 0) {
            call_refuse(call, MESSAGE_ERROR,
                        "unknown signal '%s': expected a name such as TERM, or a number",
                        args->signal);
            return;
        }
    }
    if (call_find_project(call, args->config) < 0)
        return;
    if (!call->project) {
        stop_unloaded(call);
        return;
    }
    if (call->project->changing) {
        call_refuse(call, MESSAGE_ERROR, "'%s' is being changed: try again", call->project->path);
        return;
    }
    if (call_find_services(call, args->services, &call->set) < 0)
        return;
    call->step = step_stop;
    if (args->clean && args->services.n == 0)
        call->project->leaving = true;
    call->progress = args->progress;
    engine_ask_as(call->project->engine,
                  args->because ? arena_printf(&call->arena, "%s: %s", call->who, args->because)
                                : call->who);
    engine_stop(call->project->engine, call->set, &how);
    call->project->settled = true;
    call->project->changed = true; /* the goals, if nothing else */
}

/* --- prune ---------------------------------------------------------------------------------- */

static int add_entry_size(void *self, enum tree_step step, const struct tree_entry *entry,
                          struct err *err)
{
    uint64_t *size = self;

    (void)err;
    if (step == TREE_ENTRY)
        *size += entry->info.size;
    return 0;
}

struct pruned {
    const char *status, *path, *hash;
    uint64_t size;
};

static void add_report(struct call *call, struct value_list *list, const struct pruned *one)
{
    struct value_map *map = value_map_new(&call->arena, 4);

    value_map_set(&call->arena, map, value_text("status"), value_text(one->status));
    value_map_set(&call->arena, map, value_text("path"), value_text(one->path));
    value_map_set(&call->arena, map, value_text("hash"), value_text(one->hash));
    value_map_set(&call->arena, map, value_text("size"), value_int((int64_t)one->size));
    value_list_push(&call->arena, list, value_map(map));
}

static bool does_path_exist(const char *path)
{
    struct fs_info info;
    struct err ignored;

    return fs_stat(path, &info, &ignored) == 0 && info.kind != FS_NONE;
}

/* One folder of the home. Returns what happened to it. */
static const char *prune_one(struct call *call, const char *folder, const char *path,
                             struct err *err)
{
    const struct request_prune *args = call->args;
    struct project *project = daemon_find(call->daemon, path);
    const char *word = does_path_exist(path) ? "pruned" : "orphaned";

    if (project && !engine_is_down(project->engine, ENGINE_ALL))
        return args->force && args->dry_run ? "would stop" : "running";
    if (args->dry_run)
        return does_path_exist(path) ? "would prune" : "would prune (orphaned)";
    if (project)
        daemon_unload(call->daemon, project);
    return tree_remove(folder, err) < 0 ? NULL : word;
}

static void prune_all(struct call *call)
{
    const struct home *home = &call->daemon->home;
    struct value_list *list = value_list_new(&call->arena, 0);
    struct value_map *body = value_map_new(&call->arena, 1);
    struct fs_names names = { 0 };
    struct err err;

    if (fs_list(&call->arena, home->configs, &names, &err) < 0) {
        call_fail(call, &err);
        return;
    }
    VEC_EACH (&names.list, name) {
        struct pruned one = { .hash = *name };
        const char *folder = path_join(&call->arena, home->configs, *name);

        if (snapshot_load_path(&call->arena, folder, &one.path, &err) < 0 || !one.path)
            one.path = "(unknown)";
        (void)tree_walk(folder, add_entry_size, &one.size, &err);
        one.status = prune_one(call, folder, one.path, &err);
        if (!one.status)
            one.status = arena_printf(&call->arena, "failed: %s", err.text);
        add_report(call, list, &one);
    }
    value_map_set(&call->arena, body, value_text("configs"), value_list(list));
    call_finish(call, value_map(body));
}

/* Everything that prune had to stop is down. Other configs may be loaded and unloaded meanwhile. */
static void step_prune(struct call *call)
{
    MAP_EACH (&call->daemon->projects, entry) {
        const struct project *project = entry->value;

        if (project->leaving && !engine_is_down(project->engine, ENGINE_ALL))
            return;
    }
    call->step = NULL;
    prune_all(call);
}

void handle_prune(struct call *call)
{
    const struct request_prune *args = call->args;
    struct engine_stop how = { .clean = true };

    if (call->caller.kind != ACL_ROOT) {
        call_refuse(call, MESSAGE_DENIED,
                    "only root may prune: use 'kepler stop --clean' for your own configs");
        return;
    }
    if (args->force && !args->dry_run)
        MAP_EACH (&call->daemon->projects, entry) {
            struct project *project = entry->value;

            project->leaving = true;
            engine_ask_as(project->engine, arena_printf(&call->arena, "%s, to prune", call->who));
            engine_stop(project->engine, ENGINE_ALL, &how);
        }
    call->step = step_prune;
    step_prune(call);
}

/* --- shutdown --------------------------------------------------------------------------------- */

static void step_shutdown(struct call *call)
{
    if (call->daemon->stopped)
        call_say(call, "stopped");
}

void handle_shutdown(struct call *call)
{
    const struct request_shutdown *args = call->args;

    if (call->caller.kind != ACL_ROOT) {
        call_refuse(call, MESSAGE_DENIED,
                    "only root may stop the daemon: 'kepler stop' stops your own services");
        return;
    }
    call->step = step_shutdown;
    daemon_stop(call->daemon, args->leave_running,
                arena_printf(&call->arena, "%s, who stops the daemon", call->who));
}
