/*
 * Removes unused large files from the bus.
 *
 * A large file is an object named by its sum and shared by trees. It is needed while a manifest of
 * a published set or a kept revision names it. An unnamed one is marked (FILESET_UNUSED in the
 * history bucket, visible to every master), and removed when the mark is `files_keep_unused` old: a
 * peel may still be fetching the old set. One that is named again loses its mark. Chunks left by a
 * killed master are treated the same way.
 *
 * Only the holder of the lease does this, and nothing is published meanwhile: a round that finds a
 * file on the bus does not send it again.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/bus/tree_fetch.h"
#include "fleet/master/master.h"
#include "fleet/master/files/files_service.h"
#include "fleet/master/files/tree_history.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/object.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/canary.h"
#include "fleet/wire/fileset.h"

/* Interval, unless files are kept for less than four times this. */
#define SWEEP_NS (600 * CLOCK_SECOND)
/* Delay when a round is in progress. */
#define LATER_NS CLOCK_SECOND

enum act_kind { ACT_MARK, ACT_UNMARK, ACT_ERASE, ACT_PURGE };

struct act {
    enum act_kind kind;
    const char *name; /* the sum of a file, or the id of chunks */
};

struct files_service_sweep {
    struct files_service *files_service;
    struct timer timer;
    bool is_open, is_under_way, has_failed;

    /* of the current sweep */
    struct arena arena;
    struct map objects;    /* by name */
    struct map ids, owned; /* of chunks; and those of objects */
    struct map marks;      /* int64_t, bus_time of the mark, by name */
    struct map named;      /* sums named by a manifest */
    size_t waiting;        /* manifests */
    VEC(struct act) acts;
    size_t next;
};

static void do_next_act(struct files_service_sweep *sweep);

static struct nats_kv get_swept_history(const struct files_service_sweep *sweep)
{
    return (struct nats_kv){ .js = sweep->files_service->master->js,
                             .bucket = store_bucket_name(STORE_TREE_HISTORY),
                             .indirect = true };
}

static struct nats_objects get_swept_files(const struct files_service_sweep *sweep)
{
    return (struct nats_objects){ .js = sweep->files_service->master->js, .bucket = STORE_FILES };
}

/* --- begin and end -------------------------------------------------------------------- */

static void pause_publishers(struct files_service *service)
{
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++)
        publisher_pause(service->branches[i].publisher);
}

/* A master that shuts down has no publishers any longer. */
static void resume_swept_publishers(struct files_service_sweep *sweep)
{
    for (size_t i = 0; sweep->is_open && i < FILES_SERVICE_KINDS; i++)
        publisher_resume(sweep->files_service->branches[i].publisher);
}

static void end_sweep(struct files_service_sweep *sweep)
{
    sweep->is_under_way = false;
    arena_done(&sweep->arena);
    sweep->arena = (struct arena)ARENA_INIT;
    resume_swept_publishers(sweep);
}

static void fail_sweep(struct files_service_sweep *sweep, const char *why)
{
    if (sweep->is_open)
        log_warning("cannot search for unused large files error=%s", why);
    end_sweep(sweep);
}

static bool is_leading_sweep(const struct files_service_sweep *sweep)
{
    return sweep->is_open && lease_is_held(&sweep->files_service->lease);
}

/* --- acts ----------------------------------------------------------------------------- */

static void end_sweep_act(struct files_service_sweep *sweep, const struct nats_error *error)
{
    if (error)
        fail_sweep(sweep, error->text);
    else
        do_next_act(sweep);
}

static void on_act(void *self, const struct nats_error *error)
{
    end_sweep_act(self, error);
}

static void on_sweep_mark_written(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    /* the previous holder of the lease may have marked it */
    end_sweep_act(self, error && error->fault != NATS_FAULT_CONFLICT ? error : NULL);
}

static void on_erased(void *self, const struct nats_error *error,
                      const struct nats_object_info *info)
{
    if (info)
        log_info("removed an unused large file sum=%s bytes=%llu", info->name,
                 (unsigned long long)info->size);
    end_sweep_act(self, error && error->fault != NATS_FAULT_NOT_FOUND ? error : NULL);
}

static int begin_sweep_act(struct files_service_sweep *sweep, const struct act *act,
                           struct err *err)
{
    const struct nats_kv history = get_swept_history(sweep);
    const struct nats_objects files = get_swept_files(sweep);
    const char *key = arena_printf(&sweep->arena, FILESET_UNUSED, act->name);

    switch (act->kind) {
    case ACT_MARK: return nats_kv_create(&history, key, STR(""), on_sweep_mark_written, sweep, err);
    case ACT_UNMARK: return tree_history_purge(&history.js, key, on_act, sweep, err);
    case ACT_ERASE: return nats_object_erase(&files, act->name, on_erased, sweep, err);
    case ACT_PURGE: return nats_object_purge_id(&files, act->name, on_act, sweep, err);
    }
    return err_set(err, ERR_INVALID, "not an act");
}

static void do_next_act(struct files_service_sweep *sweep)
{
    struct err err;

    if (!is_leading_sweep(sweep) || sweep->next == sweep->acts.n)
        end_sweep(sweep);
    else if (begin_sweep_act(sweep, &sweep->acts.p[sweep->next++], &err) < 0)
        fail_sweep(sweep, err.text);
}

/* --- decisions ------------------------------------------------------------------------ */

static void add_act(struct files_service_sweep *sweep, enum act_kind kind, const char *name)
{
    VEC_PUSH_IN(&sweep->arena, &sweep->acts, (struct act){ kind, name });
}

/* Unused: act with `kind` when it was marked long enough ago. */
static void judge_unused(struct files_service_sweep *sweep, enum act_kind kind, struct str name)
{
    const int64_t *since = map_remove(&sweep->marks, name);

    if (!since) {
        add_act(sweep, ACT_MARK, name.p);
    } else if (bus_time() - *since >= sweep->files_service->master->conf.files_keep_unused) {
        add_act(sweep, kind, name.p);
        add_act(sweep, ACT_UNMARK, name.p);
    }
}

static void decide_all(struct files_service_sweep *sweep)
{
    MAP_EACH (&sweep->objects, entry)
        if (!map_has(&sweep->named, entry->key))
            judge_unused(sweep, ACT_ERASE, entry->key);
    MAP_EACH (&sweep->ids, entry)
        if (!map_has(&sweep->owned, entry->key))
            judge_unused(sweep, ACT_PURGE, entry->key);
    MAP_EACH (&sweep->marks, entry) /* of files used again, or gone */
        add_act(sweep, ACT_UNMARK, entry->key.p);
    do_next_act(sweep);
}

/* --- needed files --------------------------------------------------------------------- */

static void add_kept_object(struct files_service_sweep *sweep, struct map *map, struct str name)
{
    if (!map_has(map, name))
        (void)map_set(map, arena_str(&sweep->arena, name), sweep);
}

/* An unreadable manifest may name any file. */
static void add_manifest_objects(struct files_service_sweep *sweep, struct str manifest)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct tree_files files;
    struct err err;

    if (tree_files_parse(&arena, manifest, &files, &err) < 0) {
        sweep->has_failed = true;
        return;
    }
    for (size_t i = 0; i < files.n; i++)
        if (files.p[i].size > 0)
            add_kept_object(sweep, &sweep->named, str_from(files.p[i].sha256));
}

static void end_manifests(struct files_service_sweep *sweep, const struct nats_error *error)
{
    if (error)
        sweep->has_failed = true;
    if (--sweep->waiting > 0)
        return;
    if (sweep->has_failed || !is_leading_sweep(sweep))
        fail_sweep(sweep, "some manifests cannot be read");
    else
        decide_all(sweep);
}

static void on_swept_manifest(void *self, const struct nats_error *error,
                              const struct nats_kv_entry *entry)
{
    struct files_service_sweep *sweep = self;

    if (entry)
        add_manifest_objects(sweep, entry->value);
    end_manifests(sweep, error && error->fault != NATS_FAULT_NOT_FOUND ? error : NULL);
}

static void on_past(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct files_service_sweep *sweep = self;

    if (entry)
        add_manifest_objects(sweep, entry->value);
    else
        end_manifests(sweep, error);
}

static void read_published(struct files_service_sweep *sweep, const struct nats_kv *kv,
                           const char *key)
{
    struct err err;

    if (nats_kv_get(kv, key, on_swept_manifest, sweep, &err) == 0)
        sweep->waiting++;
    else
        sweep->has_failed = true;
}

static void read_manifests(struct files_service_sweep *sweep)
{
    struct nats_kv kv = get_swept_history(sweep);
    struct err err;

    sweep->waiting = 1; /* ours: nothing ends before all have begun */
    if (nats_kv_list(&kv, "*.manifest.*", on_past, sweep, &err) == 0)
        sweep->waiting++;
    else
        sweep->has_failed = true;
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++) {
        kv.bucket = store_bucket_name(files_service_kinds[i].bucket);
        read_published(sweep, &kv, FILESET_MANIFEST);
    }
    kv.bucket = store_bucket_name(STORE_STATE_FILES);
    read_published(sweep, &kv, CANARY_MANIFEST);
    end_manifests(sweep, NULL);
}

/* --- existing files ------------------------------------------------------------------- */

static void note_mark(struct files_service_sweep *sweep, const struct nats_kv_entry *entry)
{
    const char *last = memrchr(entry->key.p, '.', entry->key.n);
    int64_t *since = ARENA_NEW(&sweep->arena, int64_t);

    if (!last)
        return;
    *since = entry->time;
    (void)map_set(
        &sweep->marks,
        arena_str(&sweep->arena, str_from_offset(entry->key, (size_t)(last + 1 - entry->key.p))),
        since);
}

static void on_sweep_mark_read(void *self, const struct nats_error *error,
                               const struct nats_kv_entry *entry)
{
    struct files_service_sweep *sweep = self;

    if (error)
        fail_sweep(sweep, error->text);
    else if (entry)
        note_mark(sweep, entry);
    else if (map_count(&sweep->objects) || map_count(&sweep->ids) || map_count(&sweep->marks))
        read_manifests(sweep);
    else
        end_sweep(sweep);
}

static void on_id(void *self, const struct nats_error *error, const char *id)
{
    struct files_service_sweep *sweep = self;
    const struct nats_kv history = get_swept_history(sweep);
    struct err err;

    if (error)
        fail_sweep(sweep, error->text);
    else if (id)
        add_kept_object(sweep, &sweep->ids, str_from(id));
    else if (nats_kv_list(&history, "objects.unused.*", on_sweep_mark_read, sweep, &err) < 0)
        fail_sweep(sweep, err.text);
}

static void on_sweep_object(void *self, const struct nats_error *error,
                            const struct nats_object_info *info)
{
    struct files_service_sweep *sweep = self;
    const struct nats_objects files = get_swept_files(sweep);
    struct err err;

    if (error) {
        fail_sweep(sweep, error->text);
    } else if (info) {
        add_kept_object(sweep, &sweep->objects, str_from(info->name));
        add_kept_object(sweep, &sweep->owned, str_from(info->id));
    } else if (nats_object_list_ids(&files, on_id, sweep, &err) < 0) {
        fail_sweep(sweep, err.text);
    }
}

static void begin_sweep(struct files_service_sweep *sweep)
{
    const struct nats_objects files = get_swept_files(sweep);
    struct map *const maps[] = { &sweep->objects, &sweep->ids, &sweep->owned, &sweep->marks,
                                 &sweep->named };
    struct err err;

    for (size_t i = 0; i < ARRAY_LEN(maps); i++)
        *maps[i] = (struct map)MAP_INIT_IN(&sweep->arena);
    sweep->acts.p = NULL;
    sweep->acts.n = sweep->acts.cap = sweep->next = 0;
    sweep->is_under_way = true;
    sweep->has_failed = false;
    pause_publishers(sweep->files_service);
    if (nats_object_list(&files, on_sweep_object, sweep, &err) < 0)
        fail_sweep(sweep, err.text);
}

/* --- intervals ------------------------------------------------------------------------ */

static bool is_publishing_files(const struct files_service *service)
{
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++)
        if (publisher_is_busy(service->branches[i].publisher) || service->branches[i].rollback ||
            service->branches[i].unfinished)
            return true;
    return service->canary.act != NULL;
}

static void on_sweep_timer(struct timer *timer)
{
    struct files_service_sweep *sweep = container_of(timer, struct files_service_sweep, timer);
    const int64_t quarter = sweep->files_service->master->conf.files_keep_unused / 4;
    const bool is_late = is_leading_sweep(sweep) && !sweep->is_under_way &&
                         is_publishing_files(sweep->files_service);
    const int64_t usual = quarter < SWEEP_NS ? quarter : SWEEP_NS;

    timer_set(loop_timers(sweep->files_service->master->loop), timer,
              clock_after(clock_now(), is_late || usual < LATER_NS ? LATER_NS : usual),
              on_sweep_timer);
    if (!is_late && is_leading_sweep(sweep) && !sweep->is_under_way)
        begin_sweep(sweep);
}

void files_service_sweep_start(struct files_service *service)
{
    if (!service->sweep)
        service->sweep = mem_zalloc(sizeof(*service->sweep));
    service->sweep->files_service = service;
    service->sweep->is_open = true;
    timer_set(loop_timers(service->master->loop), &service->sweep->timer,
              clock_after(clock_now(), LATER_NS), on_sweep_timer);
}

void files_service_sweep_stop(struct files_service *service)
{
    if (!service->sweep)
        return;
    service->sweep->is_open = false;
    timer_clear(loop_timers(service->master->loop), &service->sweep->timer);
}

void files_service_sweep_free(struct files_service *service)
{
    if (!service->sweep)
        return;
    arena_done(&service->sweep->arena);
    free(service->sweep);
    service->sweep = NULL;
}
