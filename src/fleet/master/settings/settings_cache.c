#include "fleet/master/settings/settings_cache.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/sha256.h"
#include "fleet/bus/mirror.h"
#include "fleet/bus/store.h"
#include "core/data/msgpack.h"
#include "core/data/value.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/services.h"
#include "fleet/master/settings/settings_tree.h"
#include "core/sys/background_task.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "core/sys/path.h"
#include "fleet/wire/peel_id.h"

/* Peels per background task. */
#define BATCH 64
/* Maximum encoded size of a peel's settings. */
#define SETTINGS_MAX ((size_t)4 << 20)
/* Peels named in a warning. */
#define NAMED_MAX 3

/* Settings shared by some peels. */
struct shared_settings {
    size_t users;
    struct arena arena;
    struct value settings;
    char sum[SHA256_HEX_SIZE];
};

/* A peel. */
struct peel_settings {
    struct shared_settings *shared; /* NULL: not known */
    bool is_due;                    /* in the list of due peels */
    bool is_broken;                 /* rendering failed */
    char peel[];
};

struct settings_cache {
    struct master *master;
    struct roster_listener facts;
    struct nats_listener listener;
    struct background_tasks *background_tasks;
    struct mirror *mirror; /* NULL: not needed yet */
    struct tree_trust trust;
    struct arena arena;
    const char *folder;
    struct map by_peel, by_sum; /* by peel; by sum */
    VEC(struct peel_settings *) due;
    struct settings_tree *tree;    /* NULL: not read yet */
    uint64_t syncs, read, reading; /* synced trees; the one that was read; the one being read */
    size_t under_way;              /* background tasks */
    struct settings_wait *waits;
    bool is_reading, is_gone;
};

static void advance_settings(struct settings_cache *cache);

/* --- waiters -------------------------------------------------------------------------- */

static void end_settings_wait(struct settings_wait *wait, const char *problem)
{
    struct settings_wait **place = &wait->cache->waits;

    while (*place != wait)
        place = &(*place)->next;
    *place = wait->next;
    timer_clear(loop_timers(wait->cache->master->loop), &wait->timer);
    wait->ready(wait, problem);
}

static void end_all_waits(struct settings_cache *cache, const char *problem)
{
    while (cache->waits)
        end_settings_wait(cache->waits, problem);
}

static void on_settings_wait_timeout(struct timer *timer)
{
    struct settings_wait *wait = container_of(timer, struct settings_wait, timer);

    wait->is_late = true;
    end_settings_wait(wait, "this master is still rendering the settings of the peels; try again");
}

/* --- shared settings ------------------------------------------------------------------ */

static struct peel_settings *get_peel_settings(struct settings_cache *cache, struct str peel)
{
    struct peel_settings *peel_settings = map_find(&cache->by_peel, peel);

    if (peel_settings)
        return peel_settings;
    peel_settings = mem_zalloc(sizeof(*peel_settings) + peel.n + 1);
    memcpy(peel_settings->peel, peel.p, peel.n);
    (void)map_set(&cache->by_peel, str_from(peel_settings->peel), peel_settings);
    return peel_settings;
}

static void mark_due(struct settings_cache *cache, struct peel_settings *peel_settings)
{
    if (!peel_settings->is_due)
        VEC_PUSH(&cache->due, peel_settings);
    peel_settings->is_due = true;
}

static void drop_shared_settings(struct settings_cache *cache, struct shared_settings *shared)
{
    if (!shared || --shared->users > 0)
        return;
    (void)map_remove(&cache->by_sum, str_from(shared->sum));
    arena_done(&shared->arena);
    free(shared);
}

/* Returns the shared settings with these bytes, with a reference for the caller; NULL:
 * malformed. */
static struct shared_settings *get_shared_settings(struct settings_cache *cache, struct str bytes)
{
    char sum[SHA256_HEX_SIZE];
    struct shared_settings *shared;
    struct err ignored; /* our own encoding */

    sha256_hex(bytes.p, bytes.n, sum);
    shared = map_find(&cache->by_sum, str_from(sum));
    if (!shared) {
        shared = mem_zalloc(sizeof(*shared));
        memcpy(shared->sum, sum, sizeof(sum));
        if (msgpack_decode(&shared->arena, arena_str(&shared->arena, bytes), &shared->settings,
                           &ignored) < 0) {
            arena_done(&shared->arena);
            free(shared);
            return NULL;
        }
        (void)map_set(&cache->by_sum, str_from(shared->sum), shared);
    }
    shared->users++;
    return shared;
}

/* `bytes` is a NULL view: unknown. */
static void set_shared_settings(struct settings_cache *cache, struct peel_settings *peel_settings,
                                struct str bytes)
{
    struct shared_settings *old = peel_settings->shared;

    peel_settings->shared = bytes.p ? get_shared_settings(cache, bytes) : NULL;
    roster_put_settings(master_roster(cache->master), str_from(peel_settings->peel),
                        peel_settings->shared ? &peel_settings->shared->settings : NULL);
    drop_shared_settings(cache, old);
}

/* --- rendering ------------------------------------------------------------------------ */

struct item {
    const char *peel;
    struct value facts;
    struct str bytes; /* a NULL view: failed */
};

struct batch {
    struct background_task background_task;
    struct settings_cache *cache;
    struct settings_tree *tree;
    struct arena arena; /* items and results */
    struct item items[BATCH];
    size_t count;
};

static int render_item(const struct batch *batch, struct arena *scratch, const struct item *item,
                       struct buf *out, struct err *err)
{
    struct value settings;

    if (settings_tree_disclose(batch->tree, scratch, item->peel, &item->facts, &settings, err) < 0)
        return -1;
    if (msgpack_encode(out, &settings, err) < 0)
        return -1;
    return out->full ? err_set(err, ERR_LIMIT, "more than %zu bytes", SETTINGS_MAX) : 0;
}

static void render_batch(struct background_task *background_task)
{
    struct batch *batch = container_of(background_task, struct batch, background_task);

    for (size_t i = 0; i < batch->count; i++) {
        AUTO_ARENA struct arena scratch = ARENA_INIT;
        AUTO_BUF struct buf out = BUF_INIT(SETTINGS_MAX);
        struct err err; /* shown by `zester settings show PEEL` */

        if (render_item(batch, &scratch, &batch->items[i], &out, &err) == 0)
            batch->items[i].bytes = buf_copy(&out, &batch->arena);
    }
}

static void keep_item(struct settings_cache *cache, const struct item *item)
{
    struct peel_settings *peel_settings = get_peel_settings(cache, str_from(item->peel));

    if (!item->bytes.p && !peel_settings->is_broken)
        log_warning("cannot render the settings of a peel, so I@ and J@ do not match it peel=%s",
                    peel_settings->peel);
    peel_settings->is_broken = !item->bytes.p;
    set_shared_settings(cache, peel_settings, item->bytes);
}

static void on_rendered(struct background_task *background_task)
{
    struct batch *batch = container_of(background_task, struct batch, background_task);
    struct settings_cache *cache = batch->cache;

    for (size_t i = 0; i < batch->count && !cache->is_gone; i++)
        keep_item(cache, &batch->items[i]);
    settings_tree_drop(batch->tree);
    arena_done(&batch->arena);
    free(batch);
    cache->under_way--;
    advance_settings(cache);
}

/* False: the peel is unknown. */
static bool add_settings_item(struct batch *batch, struct peel_settings *peel_settings)
{
    const struct value *facts =
        roster_facts(master_roster(batch->cache->master), str_from(peel_settings->peel));

    peel_settings->is_due = false;
    if (!facts)
        return false;
    batch->items[batch->count++] =
        (struct item){ .peel = peel_settings->peel, .facts = value_copy(&batch->arena, facts) };
    return true;
}

static void begin_settings_batch(struct settings_cache *cache)
{
    struct batch *batch = mem_zalloc(sizeof(*batch));

    batch->cache = cache;
    while (cache->due.n > 0 && batch->count < BATCH) {
        struct peel_settings *peel_settings = cache->due.p[--cache->due.n];

        if (!add_settings_item(batch, peel_settings)) {
            peel_settings->is_broken = false;
            set_shared_settings(cache, peel_settings, (struct str){ NULL, 0 });
        }
    }
    batch->tree = settings_tree_hold(cache->tree);
    cache->under_way++;
    background_task_begin(cache->background_tasks, &batch->background_task, render_batch,
                          on_rendered);
}

/* --- the tree ------------------------------------------------------------------------- */

struct settings_tree_reading {
    struct background_task background_task;
    struct settings_cache *cache;
    struct settings_tree *tree; /* NULL: failed */
    struct err err;
};

static void read_cached_tree(struct background_task *background_task)
{
    struct settings_tree_reading *reading =
        container_of(background_task, struct settings_tree_reading, background_task);

    reading->tree = settings_tree_read(reading->cache->folder, &reading->err);
}

static void mark_all_settings_due(struct settings_cache *cache)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct param_strs peels;
    struct err err;

    if (roster_resolve(master_roster(cache->master), &arena,
                       &(struct roster_question){ .expr = "*", .type = "" }, &peels, &err) == 0)
        for (size_t i = 0; i < peels.n; i++)
            mark_due(cache, get_peel_settings(cache, str_from(peels.p[i])));
}

static void use_tree(struct settings_cache *cache, struct settings_tree_reading *reading)
{
    cache->is_reading = false;
    if (!reading->tree) {
        log_error("published settings cannot be read error=%s", reading->err.text);
        end_all_waits(cache, reading->err.text);
        return;
    }
    cache->read = cache->reading;
    if (settings_tree_equal(cache->tree, reading->tree))
        return;
    settings_tree_drop(cache->tree);
    cache->tree = settings_tree_hold(reading->tree);
    mark_all_settings_due(cache);
}

static void on_settings_tree_read(struct background_task *background_task)
{
    struct settings_tree_reading *reading =
        container_of(background_task, struct settings_tree_reading, background_task);
    struct settings_cache *cache = reading->cache;

    if (!cache->is_gone)
        use_tree(cache, reading);
    settings_tree_drop(reading->tree);
    free(reading);
    cache->under_way--;
    advance_settings(cache);
}

static void begin_settings_reading(struct settings_cache *cache)
{
    struct settings_tree_reading *reading = mem_zalloc(sizeof(*reading));

    reading->cache = cache;
    cache->is_reading = true;
    cache->reading = cache->syncs;
    cache->under_way++;
    background_task_begin(cache->background_tasks, &reading->background_task, read_cached_tree,
                          on_settings_tree_read);
}

static void on_settings_tree_synced(void *self, const struct mirror_sync *sync)
{
    struct settings_cache *cache = self;

    cache->syncs += sync->changed || cache->syncs == 0;
}

static void on_settings_sync_failed(void *self, const char *bucket, const char *problem)
{
    (void)self;
    log_warning("settings for targets not synced, trying again bucket=%s error=%s", bucket,
                problem);
}

static void on_sync_ended(void *self)
{
    advance_settings(self);
}

static int open_mirror(struct settings_cache *cache, struct err *err)
{
    struct master *master = cache->master;
    const char *room = workroom_open(&master->workroom, master->conf.orchestrate_dir, err);

    if (!room)
        return -1;
    cache->folder = path_join(&cache->arena, room, "settings");
    cache->trust = authority_trust(master, "settings");
    cache->mirror =
        mirror_new(&(struct mirror_options){ .loop = master->loop,
                                             .bucket = store_bucket_name(STORE_SETTINGS_FILES),
                                             .folder = cache->folder,
                                             .trust = &cache->trust,
                                             .synced = on_settings_tree_synced,
                                             .failed = on_settings_sync_failed,
                                             .ended = on_sync_ended,
                                             .self = cache },
                   err);
    if (!cache->mirror)
        return -1;
    mirror_connect(cache->mirror, &master->js);
    return 0;
}

/* Changes may have been missed. */
static void on_settings_bus_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct settings_cache *cache = container_of(listener, struct settings_cache, listener);

    if (event->kind == NATS_EVENT_CONNECTED && cache->mirror)
        mirror_connect(cache->mirror, &cache->master->js);
}

/* --- next steps ----------------------------------------------------------------------- */

static bool has_tree(const struct settings_cache *cache)
{
    return mirror_has_synced(cache->mirror) && !mirror_is_busy(cache->mirror) &&
           !cache->is_reading && cache->tree && cache->read == cache->syncs;
}

static void advance_settings(struct settings_cache *cache)
{
    if (cache->is_gone) {
        if (cache->under_way == 0)
            settings_cache_free(cache);
        return;
    }
    if (!cache->waits || !cache->mirror)
        return;
    if (!has_tree(cache)) {
        if (mirror_has_synced(cache->mirror) && !mirror_is_busy(cache->mirror) &&
            !cache->is_reading)
            begin_settings_reading(cache);
        return;
    }
    while (cache->due.n > 0 && cache->under_way < BACKGROUND_TASKS_COMPUTING)
        begin_settings_batch(cache);
    if (cache->due.n == 0 && cache->under_way == 0)
        end_all_waits(cache, NULL);
}

void settings_cache_await(struct settings_cache *cache, struct settings_wait *wait, int64_t timeout)
{
    struct err err;

    wait->cache = cache;
    wait->is_late = false;
    wait->next = cache->waits;
    cache->waits = wait;
    timer_set(loop_timers(cache->master->loop), &wait->timer, clock_after(clock_now(), timeout),
              on_settings_wait_timeout);
    if (!cache->mirror && open_mirror(cache, &err) < 0) {
        end_settings_wait(wait, err.text);
        return;
    }
    mirror_hasten(cache->mirror);
    advance_settings(cache);
}

const char *settings_cache_warning(const struct settings_cache *cache, struct arena *arena)
{
    AUTO_BUF struct buf names = BUF_INIT(BUF_NO_LIMIT);
    size_t count = 0;

    MAP_EACH (&cache->by_peel, entry) {
        const struct peel_settings *peel_settings = entry->value;
        char name[PEEL_ID_SIZE];

        if (!peel_settings->is_broken)
            continue;
        peel_id_decode(str_from(peel_settings->peel), name);
        if (count++ < NAMED_MAX)
            buf_printf(&names, "%s%s", count > 1 ? ", " : "", name);
    }
    if (count == 0)
        return "";
    return arena_printf(arena,
                        "the settings of %zu peel(s) cannot be rendered, so I@ and J@ leave them "
                        "out: %s%s (zester settings show PEEL)",
                        count, buf_text(&names), count > NAMED_MAX ? ", ..." : "");
}

/* --- life ----------------------------------------------------------------------------- */

static void on_settings_facts(struct roster_listener *listener, struct str peel)
{
    struct settings_cache *cache = container_of(listener, struct settings_cache, facts);

    if (cache->tree)
        mark_due(cache, get_peel_settings(cache, peel));
}

struct settings_cache *settings_cache_new(struct master *master,
                                          struct background_tasks *background_tasks)
{
    struct settings_cache *cache = mem_zalloc(sizeof(*cache));

    cache->master = master;
    cache->background_tasks = background_tasks;
    cache->facts.changed = on_settings_facts;
    master_roster_listen(master, &cache->facts);
    nats_listen(master->js.conn, &cache->listener, on_settings_bus_event);
    return cache;
}

static void close_settings_cache(struct settings_cache *cache)
{
    cache->is_gone = true;
    end_all_waits(cache, "this master is stopping");
    nats_unlisten(cache->master->js.conn, &cache->listener);
    master_roster_forget(cache->master, &cache->facts);
    mirror_free(cache->mirror);
    cache->mirror = NULL;
}

void settings_cache_free(struct settings_cache *cache)
{
    if (!cache)
        return;
    if (!cache->is_gone)
        close_settings_cache(cache);
    if (cache->under_way > 0)
        return; /* the last background task frees it */
    MAP_EACH (&cache->by_peel, entry)
        free(entry->value);
    MAP_EACH (&cache->by_sum, entry) {
        struct shared_settings *shared = entry->value;

        arena_done(&shared->arena);
        free(shared);
    }
    map_done(&cache->by_peel);
    map_done(&cache->by_sum);
    vec_done(&cache->due);
    settings_tree_drop(cache->tree);
    arena_done(&cache->arena);
    free(cache);
}
