#include "fleet/peel/data_store.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "states/compile/stamps.h"
#include "states/local/plan_cache.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/ledger.h"
#include "fleet/peel/outbox.h"
#include "fleet/peel/source.h"
#include "core/sys/child_registry.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define BAKED_FOLDER "states"
#define BIRTHS_FILE  "births"
#define LOCK_FILE    "peel.lock"
#define FOLDER_MODE  0700

static void on_data_stored(void *self, const char *about)
{
    (void)self;
    log_debug("return stored jid=%s", about);
}

static void on_data_dropped(void *self, const char *about, const char *why)
{
    (void)self;
    log_error("return lost jid=%s error=%s", about, why);
}

static int open_ledger(struct data_store *data_store, struct arena *arena,
                       const struct peel_conf *conf, struct err *err)
{
    bool damaged;

    data_store->ledger = ledger_open(path_join(arena, conf->data_dir, LEDGER_FILE), &damaged, err);
    if (!data_store->ledger)
        return -1;
    if (damaged)
        log_warning("records of accepted jobs were damaged and are lost file=%s/" LEDGER_FILE,
                    conf->data_dir);
    return 0;
}

static int open_data_outbox(struct data_store *data_store, struct arena *arena,
                            const struct peel_conf *conf, struct err *err)
{
    const struct outbox_listener listener = { on_data_stored, on_data_dropped, NULL };
    size_t damaged;

    data_store->outbox =
        outbox_open(path_join(arena, conf->data_dir, DATA_STORE_OUTBOX), &listener, &damaged, err);
    if (!data_store->outbox)
        return -1;
    if (damaged > 0)
        log_warning("set aside damaged returns count=%zu", damaged);
    return 0;
}

static struct source_folders find_folders(struct arena *arena, const struct peel_conf *conf)
{
    return (struct source_folders){ conf->states_cache,
                                    path_join(arena, conf->data_dir, BAKED_FOLDER) };
}

const char *data_store_states(struct arena *arena, const struct peel_conf *conf, struct err *err)
{
    const struct source_folders folders = find_folders(arena, conf);
    bool ignored;

    return source_find(&folders, &ignored, err);
}

static int open_folders(struct data_store *data_store, struct arena *arena,
                        const struct peel_conf *conf, struct err *err)
{
    const char *data = conf->data_dir;
    const struct source_folders folders = find_folders(arena, conf);

    data_store->baked = folders.baked;
    if (fs_mkdirs(data, FOLDER_MODE, err) < 0 ||
        lock_take(&data_store->lock, path_join(arena, data, LOCK_FILE), LOCK_EXCLUSIVE, LOCK_TRY,
                  NULL, err) < 0)
        return err_wrap(err, "data folder '%s'", data);
    if (!source_is_there(&folders))
        log_warning("states engine unavailable at boot; will build when state files appear");
    return 0;
}

/* Programs left by a killed agent would continue while their jobs count as failed. */
static int end_orphans(struct data_store *data_store, struct arena *arena,
                       const struct peel_conf *conf, struct err *err)
{
    const char *path = path_join(arena, conf->data_dir, BIRTHS_FILE);

    if (child_registry_kill(path, &data_store->orphans, err) < 0)
        log_error("programs of an earlier agent still run error=%s", err->text);
    if (data_store->orphans > 0)
        log_warning("programs of an earlier agent were killed count=%zu", data_store->orphans);
    return child_registry_open(path, &data_store->child_registry, err);
}

void data_store_init(struct data_store *data_store)
{
    *data_store = (struct data_store){ .lock = LOCK_NONE, .child_registry = -1 };
}

int data_store_open(struct data_store *data_store, struct arena *arena,
                    const struct peel_conf *conf, struct err *err)
{
    data_store->plan_cache = plan_cache_new(STAMPS_SETTLED);
    if (open_folders(data_store, arena, conf, err) < 0 ||
        open_ledger(data_store, arena, conf, err) < 0)
        return -1;
    return open_data_outbox(data_store, arena, conf, err) < 0
               ? -1
               : end_orphans(data_store, arena, conf, err);
}

void data_store_done(struct data_store *data_store)
{
    outbox_free(data_store->outbox);
    ledger_free(data_store->ledger);
    plan_cache_free(data_store->plan_cache);
    fd_close(&data_store->child_registry);
    lock_drop(&data_store->lock);
}
