#include "kepler/daemon/recover.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/project.h"
#include "kepler/daemon/state_file.h"
#include "kepler/daemon/snapshot.h"
#include "core/sys/background_task.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/tree.h"
#include "core/sys/rights.h"

/* They are no longer supervised. */
static void settle_record(const char *folder, const struct state_file *record)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct state_file settled = *record;
    struct err err;

    settled.services.p = NULL;
    settled.services.n = settled.services.cap = 0;
    VEC_EACH (&record->services, service) {
        struct state_file_service one = *service;

        state_file_settle(&one);
        VEC_PUSH_IN(&arena, &settled.services, one);
    }
    if (state_file_save(folder, &settled, &err) < 0)
        log_error("state cannot be written folder=%s error=%s", folder, err.text);
}

/* Restarts the services that should run, whatever their last status. */
static void start_recovered_services(struct project *project, const struct state_file *record)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    VEC(uint32_t) active = VEC_INIT;

    VEC_EACH (&record->services, service) {
        int64_t index = config_find(project->config, service->name);

        if (index >= 0 && service->goal == GOAL_UP)
            VEC_PUSH_IN(&arena, &active, (uint32_t)index);
    }
    if (active.n > 0)
        project_start(project, (struct engine_set){ active.p, active.n, 0 }, 0);
}

/* A config that ran before. Until it is read, `project` and `diags` belong to the worker. */
struct recovery {
    struct background_task background_task;
    struct daemon *daemon;
    const char *folder;
    const struct config_snapshot *snapshot;
    const struct state_file *record; /* NULL: lost */
    struct project *project;
    struct arena arena;
    struct diags diags;
    int result;
};

static void recover_config(struct background_task *background_task)
{
    struct recovery *recovery = container_of(background_task, struct recovery, background_task);
    struct config_source source = recovery->snapshot->source;

    source.hardening = hardening_max(source.hardening, recovery->daemon->hardening);
    recovery->result = project_read(recovery->project, &source, &recovery->diags);
}

static int open_project(struct recovery *recovery, struct err *err)
{
    return recovery->result < 0 ? diags_to_err(&recovery->diags, err)
                                : project_open(recovery->project, err);
}

static void restore_project(struct recovery *recovery)
{
    struct project *project = recovery->project;
    struct err err;

    if (open_project(recovery, &err) < 0) {
        log_error("config cannot be restored folder=%s error=%s", recovery->folder, err.text);
        project_free(project);
        return;
    }
    project->snapshot_time = recovery->snapshot->time;
    engine_ask_as(project->engine, "the daemon, which restores configs with autostart");
    daemon_add(recovery->daemon, project);
    if (recovery->record)
        start_recovered_services(project, recovery->record);
    else
        project_start(project, ENGINE_ALL, 0); /* its state was lost, its snapshot was not */
}

/* A daemon that is stopping leaves the config to the next one. */
static void on_config_recovered(struct background_task *background_task)
{
    struct recovery *recovery = container_of(background_task, struct recovery, background_task);
    struct daemon *daemon = recovery->daemon;

    if (daemon->stopping)
        project_free(recovery->project);
    else
        restore_project(recovery);
    arena_done(&recovery->arena);
    free(recovery);
    daemon_release_door(daemon);
}

/* As its owner sees it. */
static bool does_config_exist(struct arena *arena, const struct config_source *source)
{
    struct rights rights;
    struct fs_info info;
    struct err ignored;

    return rights_load(arena, source->owner.uid, source->owner.gid, &rights, &ignored) == 0 &&
           rights_stat(&rights, source->path, &info, &ignored) == 0 && info.kind == FS_FILE;
}

static void recover_one(struct daemon *daemon, const char *folder)
{
    struct recovery *recovery = mem_zalloc(sizeof(*recovery));
    struct arena *arena = &recovery->arena;
    struct err err;

    recovery->daemon = daemon;
    recovery->folder = folder;
    recovery->diags = (struct diags)DIAGS_INIT(arena);
    if (state_file_load(arena, folder, &recovery->record, &err) < 0)
        log_error("state cannot be read folder=%s error=%s", folder, err.text);
    if (snapshot_load(arena, folder, &recovery->snapshot, &err) < 0)
        log_error("snapshot cannot be read folder=%s error=%s", folder, err.text);
    if (recovery->snapshot && does_config_exist(arena, &recovery->snapshot->source)) {
        recovery->project = project_new(daemon);
        daemon_hold_door(daemon);
        background_task_begin(&daemon->evaluators, &recovery->background_task, recover_config,
                              on_config_recovered);
        return;
    }
    if (recovery->record)
        settle_record(folder, recovery->record);
    arena_done(arena);
    free(recovery);
}

/* Files in the making, of a daemon that was killed. */
static int remove_temp(void *self, enum tree_step step, const struct tree_entry *entry,
                       struct err *err)
{
    (void)self;
    (void)err;
    if (step == TREE_ENTRY && fs_is_temp_name(entry->name))
        (void)unlinkat(entry->folder, entry->name, 0); /* the next daemon tries again */
    return 0;
}

void recover_all(struct daemon *daemon)
{
    struct fs_names names = { 0 };
    struct err err;

    if (tree_walk(daemon->home.root, remove_temp, NULL, &err) < 0)
        log_warning("state folder cannot be cleaned error=%s", err.text);
    if (fs_list(&daemon->arena, daemon->home.configs, &names, &err) < 0) {
        log_error("configs cannot be listed error=%s", err.text);
        return;
    }
    VEC_EACH (&names.list, name)
        recover_one(daemon, path_join(&daemon->arena, daemon->home.configs, *name));
}
