#include "fleet/peel/keep.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "states/compile/stamps.h"
#include "states/local/shelf.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/ledger.h"
#include "fleet/peel/outbox.h"
#include "fleet/peel/source.h"
#include "core/sys/births.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

#define OUTBOX_FOLDER "outbox"
#define BAKED_FOLDER  "states"
#define BIRTHS_FILE   "births"
#define LOCK_FILE     "peel.lock"
#define FOLDER_MODE   0700

static void on_stored(void *self, const char *about)
{
    (void)self;
    log_debug("return stored jid=%s", about);
}

static void on_dropped(void *self, const char *about, const char *why)
{
    (void)self;
    log_error("return lost jid=%s error=%s", about, why);
}

static int open_ledger(struct keep *keep, struct arena *arena, const struct peel_conf *conf,
                       struct err *err)
{
    bool damaged;

    keep->ledger = ledger_open(path_join(arena, conf->data_dir, LEDGER_FILE), &damaged, err);
    if (!keep->ledger)
        return -1;
    if (damaged)
        log_warning("records of accepted jobs were damaged and are lost file=%s/" LEDGER_FILE,
                    conf->data_dir);
    return 0;
}

static int open_outbox(struct keep *keep, struct arena *arena, const struct peel_conf *conf,
                       struct err *err)
{
    const struct outbox_listener listener = { on_stored, on_dropped, NULL };
    size_t damaged;

    keep->outbox =
        outbox_open(path_join(arena, conf->data_dir, OUTBOX_FOLDER), &listener, &damaged, err);
    if (!keep->outbox)
        return -1;
    if (damaged > 0)
        log_warning("returns were damaged and put aside count=%zu", damaged);
    return 0;
}

static int open_folders(struct keep *keep, struct arena *arena, const struct peel_conf *conf,
                        struct err *err)
{
    const char *data = conf->data_dir;
    const struct source_folders folders = { conf->states_cache,
                                            path_join(arena, data, BAKED_FOLDER) };

    keep->baked = folders.baked;
    if (fs_mkdirs(data, FOLDER_MODE, err) < 0 ||
        lock_take(&keep->lock, path_join(arena, data, LOCK_FILE), LOCK_EXCLUSIVE, LOCK_TRY, NULL,
                  err) < 0)
        return err_wrap(err, "data folder '%s'", data);
    if (!source_is_there(&folders))
        log_warning("states engine unavailable at boot; will build when state files appear");
    return 0;
}

/* What an agent that was killed has left running would go on while others believe that it failed.
 */
static int end_orphans(struct keep *keep, struct arena *arena, const struct peel_conf *conf,
                       struct err *err)
{
    const char *path = path_join(arena, conf->data_dir, BIRTHS_FILE);

    if (births_kill(path, &keep->orphans, err) < 0)
        log_error("programs of an earlier agent still run error=%s", err->text);
    if (keep->orphans > 0)
        log_warning("programs of an earlier agent were killed count=%zu", keep->orphans);
    return births_open(path, &keep->births, err);
}

void keep_init(struct keep *keep)
{
    *keep = (struct keep){ .lock = LOCK_NONE, .births = -1 };
}

int keep_open(struct keep *keep, struct arena *arena, const struct peel_conf *conf, struct err *err)
{
    keep->shelf = shelf_new(STAMPS_SETTLED);
    if (open_folders(keep, arena, conf, err) < 0 || open_ledger(keep, arena, conf, err) < 0)
        return -1;
    return open_outbox(keep, arena, conf, err) < 0 ? -1 : end_orphans(keep, arena, conf, err);
}

void keep_done(struct keep *keep)
{
    outbox_free(keep->outbox);
    ledger_free(keep->ledger);
    shelf_free(keep->shelf);
    fd_close(&keep->births);
    lock_drop(&keep->lock);
}
