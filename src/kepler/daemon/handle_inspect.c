/* Full details of a config, for users and programs. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/utf8.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/call_access.h"
#include "kepler/daemon/loader.h"
#include "kepler/daemon/project.h"
#include "kepler/daemon/state_file.h"
#include "kepler/config/config.h"
#include "kepler/config/config_dump.h"
#include "kepler/config/environment.h"
#include "kepler/supervise/output_store.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* Maximum length of a shown output. */
#define OUTPUT_SHOWN 512

/* A config, from the engine or from disk. */
struct view {
    struct call *call;
    const struct request_ask *args;
    const struct config *config;
    const struct project *project;   /* NULL: not loaded */
    const struct state_file *record; /* then */
    const char *folder;
    bool services, environment, flags;
};

static void put_view_value(struct arena *arena, struct value_map *map, const char *key,
                           struct value v)
{
    value_map_set(arena, map, value_text(key), v);
}

/* Long texts are cut, wherever they are. Outputs are three maps deep at most. */
static struct value shorten_texts(struct arena *arena, const struct value *v, int depth)
{
    struct value_map *map;

    if (value_is_textual(v) && utf8_count(v->s) > OUTPUT_SHOWN)
        return value_text(arena_printf(arena, "%.*s... (truncated)",
                                       (int)utf8_offset(v->s, OUTPUT_SHOWN), v->s.p));
    if (!value_is(v, VALUE_MAP) || depth == 0)
        return *v;
    map = value_map_new(arena, v->map->count);
    for (size_t i = 0; i < v->map->count; i++)
        value_map_set(arena, map, v->map->pairs[i].key,
                      shorten_texts(arena, &v->map->pairs[i].value, depth - 1));
    return value_map(map);
}

static struct value outputs_value(const struct view *view, uint32_t index)
{
    struct arena *arena = &view->call->arena;
    struct value_map *map = value_map_new(arena, 3);
    const char *name = view->config->services[index].name;
    const char *path = path_join(arena, path_join(arena, view->folder, "outputs"), name);
    struct value process = value_null(), hooks = value_null();
    struct err ignored;

    if (view->project) {
        process = real_world_outputs(view->project->world, index);
        hooks = real_world_hooks(view->project->world, index);
    } else {
        (void)output_store_load(arena, path_join(arena, view->folder, "outputs"), name, &process,
                                &hooks, &ignored); /* hide what cannot be parsed */
    }
    put_view_value(arena, map, "path", value_text(path));
    put_view_value(arena, map, "process", shorten_texts(arena, &process, 4));
    put_view_value(arena, map, "hooks", shorten_texts(arena, &hooks, 4));
    return value_map(map);
}

static struct value make_status_value(const struct view *view, uint32_t index)
{
    struct arena *arena = &view->call->arena;
    const char *name = view->config->services[index].name;
    const struct state_file_service *known;
    struct state_file_service one;

    if (view->project) {
        const struct service *service = engine_get(view->project->engine, index);

        return state_file_service_value(arena, &service->record,
                                        arena_strdup(arena, buf_text(&service->reason)));
    }
    known = view->record ? state_file_find(view->record, name) : NULL;
    if (!known)
        return value_null();
    one = *known;
    state_file_settle(&one);
    return state_file_service_value(arena, &one.record, one.reason);
}

static struct value service_value(const struct view *view, uint32_t index)
{
    struct arena *arena = &view->call->arena;
    const struct launch *launch =
        view->project ? real_world_launch(view->project->world, index) : NULL;
    struct value_map *map = value_map_new(arena, 4);

    put_view_value(arena, map, "config",
                   config_dump_service(arena, view->config, &view->config->services[index]));
    put_view_value(arena, map, "state", make_status_value(view, index));
    put_view_value(arena, map, "outputs", outputs_value(view, index));
    if (view->environment)
        put_view_value(arena, map, "environment",
                       launch ? environment_value(launch->child_env, arena) : value_null());
    return value_map(map);
}

static bool is_service_named(const struct view *view, const char *name)
{
    for (size_t i = 0; i < view->args->services.n; i++)
        if (strcmp(view->args->services.p[i], name) == 0)
            return true;
    return view->args->services.n == 0;
}

/* A section that appears only if lines were lost since the config was loaded. */
static void put_losses(const struct view *view, struct value_map *whole)
{
    struct arena *arena = &view->call->arena;
    const struct capture_losses losses = capture_losses(&view->project->capture);
    struct value_map *map = value_map_new(arena, 2);
    struct err err;

    if (losses.lines == 0 && losses.errnum == 0)
        return;
    put_view_value(arena, map, "lines_lost", value_int((int64_t)losses.lines));
    put_view_value(arena, map, "error", value_null());
    if (losses.errnum) {
        (void)err_sys(&err, losses.errnum, "write lines");
        put_view_value(arena, map, "error", value_text(arena_strdup(arena, err.text)));
    }
    put_view_value(arena, whole, "logs", value_map(map));
}

static struct value whole_value(const struct view *view)
{
    struct arena *arena = &view->call->arena;
    struct value_map *map = value_map_new(arena, 8), *services = value_map_new(arena, 0);
    char *hash = arena_alloc(arena, SHA256_HEX_SIZE);
    bool loaded = view->project != NULL;

    home_hash(view->config->path, hash);
    put_view_value(arena, map, "config_path", value_text(view->config->path));
    put_view_value(arena, map, "config_hash", value_text(hash));
    put_view_value(arena, map, "state_dir", value_text(view->folder));
    put_view_value(arena, map, "kepler",
                   view->config->has_kepler ? config_dump_kepler(arena, view->config)
                                            : value_null());
    for (uint32_t i = 0; i < view->config->service_count; i++)
        if (is_service_named(view, view->config->services[i].name))
            put_view_value(arena, services, view->config->services[i].name, service_value(view, i));
    if (view->services)
        put_view_value(arena, map, "services", value_map(services));
    if (view->services && loaded)
        put_losses(view, map);
    if (view->environment)
        put_view_value(
            arena, map, "environment",
            environment_value(loaded ? view->project->env : view->config->kepler_env, arena));
    if (view->flags)
        put_view_value(arena, map, "flags", loaded ? *view->project->flags : *view->config->flags);
    return value_map(map);
}

/* A config that is not loaded: the copy of its file, and its last state. */
static int find_stored_view(struct view *view)
{
    struct call *call = view->call;
    const char *copy = path_join(&call->arena, view->folder, "config.yaml");
    struct config_source *source = ARENA_NEW(&call->arena, struct config_source);
    struct err err;

    *source = (struct config_source){ .path = view->args->config };
    if (state_file_load(&call->arena, view->folder, &view->record, &err) < 0 || !view->record ||
        fs_read(&call->arena, copy, CONFIG_FILE_MAX, &source->text, &err) < 0 || !source->text.p)
        return -1;
    source->owner = (struct config_owner){ view->record->owner_uid, view->record->owner_gid };
    call->source = source;
    return 0;
}

static int check_view_names(const struct view *view, struct err *err)
{
    for (size_t i = 0; i < view->args->services.n; i++)
        if (config_find(view->config, view->args->services.p[i]) < 0)
            return err_set(err, ERR_NOT_FOUND, "no service '%s' in '%s'", view->args->services.p[i],
                           view->config->path);
    return 0;
}

/* Sections that the caller may not see are left out. */
static struct view make_config_view(struct call *call)
{
    const struct request_ask *args = call->args;
    const bool all = !args->with_services && !args->with_environment && !args->with_flags;

    return (struct view){
        .call = call,
        .args = args,
        .services = (args->with_services || all || args->services.n > 0) &&
                    call_access_may(call, RIGHT_INSPECT_SERVICES),
        .environment = (args->with_environment || (all && args->services.n == 0)) &&
                       call_access_may(call, RIGHT_INSPECT_ENVIRONMENT),
        .flags = (args->with_flags || (all && args->services.n == 0)) &&
                 call_access_may(call, RIGHT_INSPECT_FLAGS),
        .folder = home_config(&call->arena, &call->daemon->home, args->config),
        .project = call->project,
        .config = call->project ? call->project->config : NULL,
    };
}

static void show_config_view(struct view *view)
{
    struct err err;

    if (check_view_names(view, &err) < 0)
        call_fail(view->call, &err);
    else
        call_finish(view->call, whole_value(view));
}

static void refuse_unknown_config(struct call *call)
{
    const struct request_ask *args = call->args;

    call_refuse(call, MESSAGE_UNKNOWN, "'%s' is not loaded: start it first", args->config);
}

static void step_read_stored(struct call *call)
{
    struct view view;

    if (!loader_is_done(call->loader))
        return;
    call->step = NULL;
    view = make_config_view(call);
    view.config = loader_config(call->loader);
    if (!view.config || find_stored_view(&view) < 0 ||
        !call_access_knows_owner(call, view.record->owner_uid))
        refuse_unknown_config(call);
    else
        show_config_view(&view);
}

void handle_inspect(struct call *call)
{
    const struct request_ask *args = call->args;
    struct view view;

    if (!args->config) {
        call_refuse(call, MESSAGE_ERROR, "inspect requires a config");
        return;
    }
    if (call_find_project(call, args->config) < 0)
        return;
    view = make_config_view(call);
    if (view.config)
        show_config_view(&view);
    else if (find_stored_view(&view) < 0 || !call_access_knows_owner(call, view.record->owner_uid))
        refuse_unknown_config(call);
    else
        loader_begin(call, step_read_stored);
}
