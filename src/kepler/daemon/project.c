#include "kepler/daemon/project.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/suggest.h"
#include "kepler/control/home.h"
#include "kepler/daemon/acl_file.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/monitor.h"
#include "kepler/daemon/state_file.h"
#include "kepler/daemon/snapshot.h"
#include "kepler/config/config.h"
#include "kepler/config/environment.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* Writing the state may take at most one part in this many of our time. */
#define SAVE_SHARE 10
/* A disk that was full is tried again. */
#define SAVE_RETRY CLOCK_SECOND
#define GROUP_NAME 16

/* --- state on disk ------------------------------------------------------------------------ */

struct state_file project_record(const struct project *project, struct arena *arena)
{
    struct state_file record = { .config_initialized = project->initialized,
                                 .snapshot_time = project->snapshot_time,
                                 .owner_uid = project->config->owner.uid,
                                 .owner_gid = project->config->owner.gid };

    for (uint32_t i = 0; i < project->config->service_count; i++) {
        const struct service *service = engine_get(project->engine, i);
        struct state_file_service one = { .name = service->config->name,
                                          .record = service->record,
                                          .reason = buf_text(&service->reason),
                                          .goal = service_find_goal(service) };

        VEC_PUSH_IN(arena, &record.services, one);
    }
    return record;
}

static int write_snapshot(struct project *project, struct err *err)
{
    const int64_t now = clock_wall() / CLOCK_SECOND;

    if (!project->snapshot_owed)
        return 0;
    if (snapshot_save(project->folder, project->config, project->env, project->flags, now, err) < 0)
        return -1;
    project->snapshot_time = now;
    project->snapshot_owed = false;
    return 0;
}

static int write_state(struct project *project, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct state_file record = project_record(project, &arena);

    return state_file_save(project->folder, &record, err);
}

/* A failed write is retried until it succeeds; the failure is logged once, and so is its end. The
 * state is written also where the snapshot cannot be: an older one goes by it, too. */
void project_save(struct project *project)
{
    int64_t begun = clock_now(), pause;
    bool failed;
    struct err err, ignored;

    timer_clear(loop_timers(project->daemon->loop), &project->save_timer);
    history_file_flush(&project->history_file);
    if (project->frozen)
        return;
    failed = write_snapshot(project, &err) < 0;
    failed = write_state(project, failed ? &ignored : &err) < 0 || failed;
    if (failed && !project->save_failed)
        log_error("state cannot be written config=%s error=%s", project->path, err.text);
    if (!failed && project->save_failed)
        log_warning("state can be written again config=%s", project->path);
    project->changed = project->save_failed = failed;
    pause = failed ? SAVE_RETRY : SAVE_SHARE * (clock_now() - begun);
    project->save_due = clock_after(clock_now(), pause);
}

static void on_save_due(struct timer *timer)
{
    project_save(container_of(timer, struct project, save_timer));
}

void project_save_later(struct project *project)
{
    history_file_flush(&project->history_file);
    if (project->frozen || timer_is_set(&project->save_timer))
        return;
    if (clock_now() >= project->save_due)
        project_save(project);
    else
        timer_set(loop_timers(project->daemon->loop), &project->save_timer, project->save_due,
                  on_save_due);
}

void project_freeze(struct project *project)
{
    if (project->changed)
        project_save(project);
    project->frozen = true;
}

void project_save_told(struct project *project)
{
    if (project->changed)
        project_save(project);
}

/* --- events of the engine ------------------------------------------------------------------ */

static void on_service_status(struct project *project, const struct engine_event *event)
{
    project->changed = true;
    history_file_note(&project->history_file, event->service);
    if (status_is_running(event->to))
        monitor_wake(project->monitor);
    log_info("service %s config=%s service=%s was=%s cause=%s%s%s", status_name(event->to),
             project->path, event->name, status_name(event->from), event->cause,
             event->reason[0] ? " reason=" : "", event->reason);
}

static void on_engine_event(void *self, const struct engine_event *event)
{
    struct project *project = self;

    if (event->kind == EVENT_STATUS)
        on_service_status(project, event);
    if (event->kind == EVENT_SETTLED)
        project->settled = true;
    if (event->kind == EVENT_HOOK_FAILED)
        log_warning("hook failed config=%s service=%s hook=%s reason=%s", project->path,
                    event->name, hook_phase_name(event->phase), event->reason);
    daemon_tell(project->daemon, project, event);
    if (event->kind == EVENT_CLEAR_LOGS && !project->frozen && !project->keep_lines)
        capture_clear(&project->capture, event->name);
}

static void on_project_output(void *self)
{
    struct project *project = self;

    daemon_tell_data(project->daemon, project);
}

static void on_project_flushed(void *self)
{
    struct project *project = self;

    project->settled = true; /* a call waited for that */
}

/* --- loading ------------------------------------------------------------------------------ */

static bool is_stream_kept(void *self, uint32_t service, enum service_process_stream stream)
{
    const struct project *project = self;
    const struct config_logs *logs = &engine_get(project->engine, service)->plan.logs;

    return stream == SERVICE_PROCESS_STDOUT ? logs->store_stdout : logs->store_stderr;
}

static int open_project_files(struct project *project, struct err *err)
{
    project->logs = path_join(&project->arena, project->folder, "logs");
    project->metrics = path_join(&project->arena, project->folder, "monitor");
    if (fs_mkdirs(project->folder, 0770, err) < 0 ||
        snapshot_save_source(project->folder, project->config, err) < 0 ||
        acl_file_save(project->folder, project->config->acl, err) < 0)
        return -1;
    return capture_open(&project->capture, &project->daemon->log_thread,
                        &(struct capture_options){ .folder = project->logs,
                                                   .logs = &project->config->logs,
                                                   .keeps = is_stream_kept,
                                                   .on_data = on_project_output,
                                                   .on_flushed = on_project_flushed,
                                                   .self = project },
                        err);
}

static void restore_service(struct project *project, uint32_t index,
                            struct state_file_service known)
{
    state_file_settle(&known);
    engine_restore(project->engine, index, &known.record, known.reason);
}

/* Ended services keep their status and reason; others are new. The owner is stored from the first
 * moment, and as long as any other data of the config. */
static void restore_state(struct project *project)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct state_file *record;
    struct history_book book;
    struct err err;

    if (history_file_load(&arena, project->folder, &book, &err) < 0)
        log_warning("history of the last daemon cannot be read config=%s error=%s", project->path,
                    err.text);
    else
        engine_restore_history(project->engine, &book);
    if (state_file_load(&arena, project->folder, &record, &err) < 0) {
        log_warning("state of the last daemon cannot be read config=%s error=%s", project->path,
                    err.text);
        return;
    }
    for (uint32_t i = 0; record && i < project->config->service_count; i++) {
        const struct state_file_service *known =
            state_file_find(record, project->config->services[i].name);

        if (known)
            restore_service(project, i, *known);
    }
    project->initialized = record && record->config_initialized;
    if (!record)
        project_save(project);
}

static const char *lend_token(void *self, uint32_t service)
{
    struct project *project = self;

    return tokens_lend(&project->daemon->tokens, project, service);
}

static void revoke_service_token(void *self, uint32_t service)
{
    struct project *project = self;

    tokens_revoke(&project->daemon->tokens, project, service);
}

static void build_engine(struct project *project)
{
    struct daemon *daemon = project->daemon;
    struct real_world_options options = {
        .loop = daemon->loop,
        .home = &daemon->trees,
        .files = &daemon->files,
        .background_tasks = &daemon->evaluators,
        .config = project->config,
        .group = arena_strndup(&project->arena, project->hash, GROUP_NAME),
        .outputs = path_join(&project->arena, project->folder, "outputs"),
        .env_files = project->config->autostart
                         ? path_join(&project->arena, project->folder, "env_files")
                         : NULL,
        .sink = capture_sink(&project->capture),
        .note = capture_note,
        .lend = lend_token,
        .revoke = revoke_service_token,
        .lender = project,
        .token_name = TOKEN_VARIABLE,
        .socket_name = TOKEN_SOCKET,
        .socket = daemon->home.socket,
    };

    project->world = real_world_new(&options);
    project->engine = engine_new(project->config, real_world_base(project->world),
                                 (struct event_sink){ on_engine_event, project });
    project->env = project->config->kepler_env;
    project->flags = project->config->flags;
}

struct project *project_new(struct daemon *daemon)
{
    struct project *project = mem_zalloc(sizeof(*project));

    project->daemon = daemon;
    return project;
}

int project_read(struct project *project, const struct config_source *source, struct diags *diags)
{
    return config_load(&project->arena, source, &project->config, diags);
}

int project_open(struct project *project, struct err *err)
{
    project->path = project->config->path;
    project->serial = ++project->daemon->serial;
    home_hash(project->path, project->hash);
    project->folder = home_config(&project->arena, &project->daemon->home, project->path);
    if (open_project_files(project, err) < 0)
        return -1;
    project->monitor = monitor_new(project);
    build_engine(project);
    restore_state(project);
    history_file_open(&project->history_file, &project->arena, project->folder, project->engine);
    return 0;
}

void project_free(struct project *project)
{
    if (!project)
        return;
    timer_clear(loop_timers(project->daemon->loop), &project->save_timer);
    history_file_close(&project->history_file);
    monitor_free(project->monitor);
    tokens_forget(&project->daemon->tokens, project);
    engine_free(project->engine);
    real_world_free(project->world);
    capture_close(&project->capture);
    timer_clear(loop_timers(project->daemon->loop), &project->apply_timer);
    project_free(project->newer);
    arena_done(&project->env_arena);
    arena_done(&project->arena);
    free(project);
}

/* --- another version ------------------------------------------------------------------------ */

/* Services that are new will run; an older daemon's config does not know them. */
static int write_promised_state(struct project *project, const struct config *config,
                                struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct state_file record = project_record(project, &arena);

    for (uint32_t i = 0; i < config->service_count; i++) {
        struct state_file_service one = { .name = config->services[i].name,
                                          .record = { .status = STATUS_STOPPED },
                                          .reason = "",
                                          .goal = GOAL_UP };

        if (config_find(project->config, one.name) < 0)
            VEC_PUSH_IN(&arena, &record.services, one);
    }
    return state_file_save(project->folder, &record, err);
}

/* The snapshot comes last: with the old one, the state is that of the old config. */
int project_promise(struct project *project, const struct config *config, struct err *err)
{
    const int64_t now = clock_wall() / CLOCK_SECOND;

    if (project->snapshot_time == 0)
        return 0;
    if (write_promised_state(project, config, err) < 0 ||
        snapshot_save(project->folder, config, project->env, project->flags, now, err) < 0)
        return -1;
    project->snapshot_time = now;
    project->frozen = true;
    return 0;
}

const uint32_t *project_change(struct project *project, struct project *newer, struct arena *arena)
{
    const uint32_t *numbers;
    struct err err;

    newer->newer = project->newer;
    project->newer = newer;
    project->changes++;
    project->config = newer->config;
    numbers = engine_change(project->engine, project->config, arena);
    tokens_renumber(&project->daemon->tokens, project, numbers);
    history_file_close(&project->history_file);
    history_file_open(&project->history_file, &newer->arena, project->folder, project->engine);
    if (snapshot_save_source(project->folder, project->config, &err) < 0)
        log_warning("text of the config cannot be stored config=%s error=%s", project->path,
                    err.text);
    project->frozen = false;
    project->changed = true;
    return numbers;
}

/* --- requests ------------------------------------------------------------------------------- */

static void merge_env(struct environment *env, const struct param_strs *pairs, bool capture)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct environment given, kept;
    struct err ignored; /* the client has warned about entries that are not pairs */

    environment_init(&given, &arena);
    environment_init(&kept, &arena);
    for (size_t i = 0; i < pairs->n; i++)
        (void)environment_add(&given, str_from(pairs->p[i]), &ignored);
    environment_capture(&kept, &given);
    environment_merge(env, capture ? &kept : &given);
}

static const struct value *merge_flags(struct arena *arena, const struct value *flags,
                                       const struct param_strs *pairs)
{
    struct value *merged = ARENA_NEW(arena, struct value);

    *merged = value_copy(arena, flags);
    for (size_t i = 0; i < pairs->n; i++) {
        struct str rest = arena_str(arena, str_from(pairs->p[i]));
        struct str key = str_cut(&rest, '=');

        if (rest.p)
            value_map_set(arena, merged->map, value_text(arena_strndup(arena, key.p, key.n)),
                          value_text(arena_strndup(arena, rest.p, rest.n)));
    }
    return merged;
}

void project_merge(struct project *project, const struct project_merge *merge)
{
    struct arena arena = ARENA_INIT;
    struct environment *env;

    if (!merge->refresh && merge->overrides.n == 0 && merge->flags.n == 0)
        return;
    env = environment_copy(&arena, project->env);
    if (merge->refresh)
        merge_env(env, &merge->environment, true);
    merge_env(env, &merge->overrides, false);
    project->flags = merge_flags(&arena, project->flags, &merge->flags);
    project->env = env;
    /* Running services have their own copies of the old ones. */
    real_world_set_env(project->world, project->env);
    real_world_set_flags(project->world, project->flags);
    arena_done(&project->env_arena);
    project->env_arena = arena;
    /* The environment belongs to where it lives now, for the next copy. */
    env->arena = &project->env_arena;
    env->vars.arena = &project->env_arena;
}

/* Before anything starts. A failure is logged, and retried with the state. */
static void save_project_snapshot(struct project *project)
{
    struct err ignored;

    if (project->config->autostart && !project->no_snapshot) {
        project->snapshot_owed = true;
        (void)write_snapshot(project, &ignored);
    }
    project->no_snapshot = false;
}

void project_start(struct project *project, struct engine_set set, unsigned flags)
{
    save_project_snapshot(project);
    project->initialized = true;
    project->changed = true;
    engine_start(project->engine, set, flags);
}

static int unknown_service(const struct config *config, const char *name, struct err *err)
{
    struct suggest near;
    struct str best;

    suggest_init(&near, str_from(name));
    for (uint32_t i = 0; i < config->service_count; i++)
        suggest_offer(&near, str_from(config->services[i].name));
    best = suggest_best(&near);
    if (best.p)
        return err_set(err, ERR_NOT_FOUND, "no service '%s' in '%s' (did you mean '%.*s'?)", name,
                       config->path, STR_ARG(best));
    return err_set(err, ERR_NOT_FOUND, "no service '%s' in '%s'", name, config->path);
}

int project_check_names(const struct config *config, struct param_strs names, struct err *err)
{
    for (size_t i = 0; i < names.n; i++)
        if (config_find(config, names.p[i]) < 0)
            return unknown_service(config, names.p[i], err);
    return 0;
}

int project_find(const struct project *project, struct param_strs names, struct arena *arena,
                 struct engine_set *ret_set, struct err *err)
{
    uint32_t *services = ARENA_ARRAY(arena, uint32_t, names.n);
    bool *taken = ARENA_ARRAY(arena, bool, project->config->service_count);
    size_t count = 0;

    for (size_t i = 0; i < names.n; i++) {
        int64_t index = config_find(project->config, names.p[i]);

        if (index < 0)
            return unknown_service(project->config, names.p[i], err);
        if (!taken[index])
            services[count++] = (uint32_t)index;
        taken[index] = true;
    }
    *ret_set = (struct engine_set){ services, count, 0 };
    return 0;
}

size_t project_running(const struct project *project)
{
    size_t count = 0;

    for (uint32_t i = 0; i < project->config->service_count; i++)
        count += status_is_running(service_status(engine_get(project->engine, i)));
    return count;
}
