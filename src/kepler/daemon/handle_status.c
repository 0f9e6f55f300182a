/* Status requests: ping, list, status, why. */
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/history_file.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/call_access.h"
#include "kepler/daemon/project.h"
#include "kepler/daemon/state_file.h"
#include "kepler/daemon/snapshot.h"
#include "kepler/config/config.h"
#include "kepler/engine/why.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

static void put_status_value(struct call *call, struct value_map *map, const char *key,
                             struct value v)
{
    value_map_set(&call->arena, map, value_text(key), v);
}

void handle_ping(struct call *call)
{
    struct value_map *map = value_map_new(&call->arena, 2);

    put_status_value(call, map, "pid", value_int(getpid()));
    put_status_value(call, map, "version", value_text(ZESTER_VERSION));
    put_status_value(call, map, "root", value_text(call->daemon->home.root));
    call_finish(call, value_map(map));
}

/* --- loaded configs ------------------------------------------------------------------------- */

void handle_list(struct call *call)
{
    struct value_list *list = value_list_new(&call->arena, 0);
    struct value_map *body = value_map_new(&call->arena, 2);

    MAP_EACH (&call->daemon->projects, entry) {
        const struct project *project = entry->value;
        struct value_map *map = value_map_new(&call->arena, 4);

        if (!call_access_sees(call, project->path))
            continue;
        put_status_value(call, map, "config_path", value_text(project->path));
        put_status_value(call, map, "config_hash",
                         value_text(arena_strdup(&call->arena, project->hash)));
        put_status_value(call, map, "services", value_int((int64_t)engine_count(project->engine)));
        put_status_value(call, map, "running", value_int((int64_t)project_running(project)));
        value_list_push(&call->arena, list, value_map(map));
    }
    put_status_value(call, body, "configs", value_list(list));
    put_status_value(call, body, "pid", value_int(getpid()));
    call_finish(call, value_map(body));
}

/* --- status --------------------------------------------------------------------------------- */

static struct value loaded_services(struct call *call, const struct project *project)
{
    struct value_map *map = value_map_new(&call->arena, project->config->service_count);

    for (uint32_t i = 0; i < project->config->service_count; i++) {
        const struct service *service = engine_get(project->engine, i);

        put_status_value(
            call, map, service->config->name,
            state_file_service_value(&call->arena, &service->record,
                                     arena_strdup(&call->arena, buf_text(&service->reason))));
    }
    return value_map(map);
}

/* The data on disk; NULL when there is none. */
static const struct state_file *load_stored(struct call *call, const char *folder)
{
    const struct state_file *record;
    struct err err;

    return state_file_load(&call->arena, folder, &record, &err) < 0 ? NULL : record;
}

static struct value stored_services(struct call *call, const struct state_file *record)
{
    struct value_map *map = value_map_new(&call->arena, record->services.n);

    VEC_EACH (&record->services, service) {
        struct state_file_service one = *service;

        state_file_settle(&one);
        put_status_value(call, map, one.name,
                         state_file_service_value(&call->arena, &one.record, one.reason));
    }
    return value_map(map);
}

static void add_config_status(struct call *call, struct value_list *list, const char *path,
                              const char *hash, struct value services)
{
    struct value_map *map = value_map_new(&call->arena, 3);

    put_status_value(call, map, "config_path", value_text(path));
    put_status_value(call, map, "config_hash", value_text(hash));
    put_status_value(call, map, "services", services);
    value_list_push(&call->arena, list, value_map(map));
}

/* Loaded ones live; others as they were left. */
static void status_of_all(struct call *call)
{
    const struct home *home = &call->daemon->home;
    struct value_list *list = value_list_new(&call->arena, 0);
    struct value_map *body = value_map_new(&call->arena, 1);
    struct fs_names names = { 0 };
    struct err ignored; /* without the folder there are none */

    (void)fs_list(&call->arena, home->configs, &names, &ignored);
    VEC_EACH (&names.list, name) {
        const char *folder = path_join(&call->arena, home->configs, *name), *path;
        struct project *project;
        const struct state_file *record;

        if (snapshot_load_path(&call->arena, folder, &path, &ignored) < 0 || !path)
            continue;
        project = daemon_find(call->daemon, path);
        if (!call_access_sees(call, path))
            continue;
        if (project) {
            project_save_told(project);
            add_config_status(call, list, path, *name, loaded_services(call, project));
        } else if ((record = load_stored(call, folder))) {
            add_config_status(call, list, path, *name, stored_services(call, record));
        }
    }
    put_status_value(call, body, "configs", value_list(list));
    call_finish(call, value_map(body));
}

/* The loaded text, for comparison with a file. */
static void add_loaded(struct call *call, struct value_map *body)
{
    const struct request_ask *args = call->args;
    const struct str text = call->project->config->text;
    char *digest = arena_alloc(&call->arena, SHA256_HEX_SIZE);

    sha256_hex(text.p, text.n, digest);
    put_status_value(call, body, "loaded", value_bool(true));
    put_status_value(call, body, "digest", value_text(digest));
    if (args->with_text)
        put_status_value(call, body, "text", value_str(text));
}

void handle_status(struct call *call)
{
    const struct request_ask *args = call->args;
    struct value_map *body = value_map_new(&call->arena, 1);
    const struct state_file *record;

    if (!args->config) {
        status_of_all(call);
        return;
    }
    if (call_find_project(call, args->config) < 0)
        return;
    if (call->project) {
        put_status_value(call, body, "services", loaded_services(call, call->project));
        add_loaded(call, body);
    } else {
        record = load_stored(call, home_config(&call->arena, &call->daemon->home, args->config));
        if (!record) {
            call_refuse(call, MESSAGE_UNKNOWN, "No services of '%s' are known: start it first",
                        args->config);
            return;
        }
        put_status_value(call, body, "services", stored_services(call, record));
    }
    call_finish(call, value_map(body));
}

/* --- why ------------------------------------------------------------------------------------ */

/* A config that is not loaded has a last state, and a history. */
static struct value why_stored(struct call *call, const struct state_file_service *service,
                               const struct history_book *book)
{
    struct value_map *map = value_map_new(&call->arena, 6);
    const struct history_page *page = history_page(book, service->name);
    struct state_file_service one = *service;
    const char *reason;

    state_file_settle(&one);
    reason = !one.reason ? "the config is not loaded"
             : one.record.status == STATUS_STOPPED
                 ? arena_printf(&call->arena, "%s; the config is not loaded", one.reason)
                 : one.reason;
    put_status_value(call, map, "service", value_text(one.name));
    put_status_value(call, map, "status", value_text(status_name(one.record.status)));
    put_status_value(call, map, "reason", value_text(reason));
    put_status_value(call, map, "exit_code",
                     one.record.has_exit_code ? value_int(one.record.exit_code) : value_null());
    put_status_value(call, map, "signal",
                     one.record.signal > 0 ? value_int(one.record.signal) : value_null());
    if (page)
        put_status_value(call, map, "history", why_history(&call->arena, book, page->history));
    return value_map(map);
}

static void why_unloaded(struct call *call, const struct request_ask *args)
{
    const char *folder = home_config(&call->arena, &call->daemon->home, args->config);
    const struct state_file *record = load_stored(call, folder);
    struct value_list *list = value_list_new(&call->arena, args->services.n);
    struct value_map *body = value_map_new(&call->arena, 1);
    struct history_book book = { 0 };
    struct err ignored; /* then the last state is all that is known */

    if (record && history_file_load(&call->arena, folder, &book, &ignored) < 0)
        book = (struct history_book){ 0 };
    for (size_t i = 0; i < args->services.n; i++) {
        const struct state_file_service *one =
            record ? state_file_find(record, args->services.p[i]) : NULL;

        if (!one) {
            call_refuse(call, MESSAGE_UNKNOWN, "'%s' is not loaded: start it first", args->config);
            return;
        }
        value_list_push(&call->arena, list, why_stored(call, one, &book));
    }
    put_status_value(call, body, "services", value_list(list));
    call_finish(call, value_map(body));
}

void handle_why(struct call *call)
{
    const struct request_ask *args = call->args;
    struct value_list *list = value_list_new(&call->arena, args->services.n);
    struct value_map *body = value_map_new(&call->arena, 1);
    struct engine_set set;

    if (!args->config || args->services.n == 0) {
        call_refuse(call, MESSAGE_ERROR, "why requires a config and a service");
        return;
    }
    if (call_find_project(call, args->config) < 0)
        return;
    if (!call->project) {
        why_unloaded(call, args);
        return;
    }
    if (call_find_services(call, args->services, &set) < 0)
        return;
    for (size_t i = 0; i < set.count; i++)
        value_list_push(&call->arena, list,
                        why_value(&call->arena, call->project->engine, set.services[i]));
    put_status_value(call, body, "services", value_list(list));
    call_finish(call, value_map(body));
}

/* --- events --------------------------------------------------------------------------------- */

/* The call stays: it watches until its client leaves or the config is unloaded. */
void handle_events(struct call *call)
{
    const struct request_ask *args = call->args;

    if (!args->config) {
        call_refuse(call, MESSAGE_ERROR, "events requires a config");
        return;
    }
    if (call_find_loaded(call, args->config, args->services) < 0)
        return;
    call_answer(call, value_null());
    call_watch(call);
}
