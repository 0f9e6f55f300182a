/*
 * The service "publisher-lease": one master at a time publishes the trees of states, settings and
 * rules: when it gets the lease, when a file changes, every so often, and when an operator asks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/master/announce.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/services.h"
#include "fleet/master/files/shelf.h"
#include "fleet/master/secrets/secret_cache.h"
#include "fleet/master/settings/settings_box.h"
#include "fleet/master/settings/settings_tree.h"
#include "fleet/master/settings/settings_views.h"
#include "fleet/master/files/standby.h"
#include "fleet/master/settings/vault.h"
#include "fleet/nats/conn.h"
#include "states/settings/sanitize.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/loop.h"
#include "core/sys/path.h"
#include "fleet/wire/fileset.h"
#include "fleet/wire/subject.h"

#define WORKERS 2
#define LEASE   "publisher"

const struct publisher_kind shelf_kinds[SHELF_KINDS] = {
    [SHELF_SETTINGS] = { .name = "settings",
                         .bucket = STORE_SETTINGS_FILES,
                         .prefix = "",
                         .is_bare = true,
                         .prepare = settings_tree_prepare,
                         .markers = sanitize_tags },
    [SHELF_STATES] = { .name = "states",
                       .bucket = STORE_STATE_FILES,
                       .prefix = "",
                       .is_mirrored = true,
                       .history = "states" },
    [SHELF_REACTOR] = { .name = "reactor",
                        .bucket = STORE_REACTOR_FILES,
                        .prefix = "reactor/",
                        .is_mirrored = true,
                        .history = "reactor" },
    /* the folder of settings again, for other masters */
    [SHELF_SEALED] = { .name = "settings for masters",
                       .bucket = STORE_MASTER_SETTINGS,
                       .prefix = "",
                       .prepare = settings_box_seal,
                       .open = settings_box_open,
                       .markers = sanitize_tags,
                       .is_mirrored = true,
                       .history = "settings" },
};
static void *open_shelf(struct master *master, struct err *err)
{
    struct shelf *shelf = mem_zalloc(sizeof(*shelf));

    shelf->master = master;
    if (gethostname(shelf->host, sizeof(shelf->host) - 1) < 0)
        shelf->host[0] = '\0';
    if (chores_open_workers(&shelf->chores, master->loop, WORKERS, err) < 0 ||
        chores_open_workers(&shelf->fetchers, master->loop, SECRET_CACHE_WORKERS, err) < 0 ||
        shelf_git_open(shelf, err) < 0) {
        shelf_git_free(shelf);
        chores_close(&shelf->fetchers);
        chores_close(&shelf->chores);
        free(shelf);
        return NULL;
    }
    filewatch_hub_init(&shelf->hub, master->loop);
    return shelf;
}

static const char *folder_of(const struct shelf *shelf, size_t kind)
{
    const struct master_conf *conf = &shelf->master->conf;
    const char *const folders[SHELF_KINDS] = { conf->settings_dir, conf->states_dir,
                                               conf->reactor_dir, conf->settings_dir };

    return folders[kind];
}

/* --- rounds ------------------------------------------------------------------------- */

void shelf_note_round(struct shelf_branch *branch, const struct publisher_outcome *outcome)
{
    struct shelf *shelf = branch->shelf;

    if (branch == &shelf->branches[SHELF_SETTINGS] && shelf->vault)
        vault_reload(shelf->vault);
    if (!outcome->manifest.n)
        return;
    branch->synced = publisher_number(branch->publisher);
    if (branch->standby)
        standby_note(branch->standby, outcome->manifest);
}

/* The publisher has logged what came of it. */
static void on_round(void *self, const struct publisher_outcome *outcome)
{
    struct shelf_branch *branch = self;
    struct shelf *shelf = branch->shelf;

    shelf_note_round(branch, outcome);
    if (branch == &shelf->branches[SHELF_REACTOR] && outcome->files == 0 && !outcome->error[0])
        master_expect_no_rules(shelf->master);
}

static bool is_mirroring(const struct shelf_branch *branch)
{
    return branch->standby && branch->shelf->master->conf.files_mirror &&
           !shelf_is_from_git(branch);
}

static bool is_behind(const struct shelf_branch *branch)
{
    const uint64_t number = publisher_number(branch->publisher);

    return is_mirroring(branch) && !branch->leads && number && number != branch->synced;
}

bool shelf_may_publish(struct shelf_branch *branch)
{
    struct shelf *shelf = branch->shelf;

    if (branch == &shelf->branches[SHELF_SETTINGS])
        return shelf_may_publish(&shelf->branches[SHELF_SEALED]);
    if (branch->unfinished || branch->rollback ||
        (branch == &shelf->branches[SHELF_STATES] && shelf_is_held_by_canary(shelf)))
        return false;
    return shelf_is_in_step(branch);
}

bool shelf_is_in_step(struct shelf_branch *branch)
{
    if (!branch->leads && is_mirroring(branch))
        branch->leads = publisher_is_caught_up(branch->publisher) && !is_behind(branch) &&
                        !standby_is_busy(branch->standby);
    return branch->leads || !is_mirroring(branch);
}

static void publish_branch(struct shelf_branch *branch)
{
    if (!lease_is_held(&branch->shelf->lease) || !shelf_may_publish(branch))
        return;
    shelf_begin_round(branch, &(struct shelf_round){ .wish = { .fn = on_round, .self = branch } });
    shelf_run_updates(branch);
}

static void follow_published(struct shelf_branch *branch)
{
    struct shelf *shelf = branch->shelf;
    const bool is_leading = lease_is_held(&shelf->lease) && !shelf->mirrors;

    if (!is_behind(branch) || standby_is_busy(branch->standby))
        return;
    branch->syncing = publisher_number(branch->publisher);
    standby_sync(branch->standby, is_leading,
                 branch == &shelf->branches[SHELF_STATES] ? shelf_canary_manifest(shelf) : NULL);
}

static bool is_free_of_canary(const struct shelf *shelf)
{
    return shelf->canary.is_known && !shelf->canary.is_there;
}

/* What was interrupted comes before everything else. While there is a canary, that is its end. */
static void advance_branch(struct shelf_branch *branch, bool holds)
{
    struct shelf *shelf = branch->shelf;
    const bool is_states = branch == &shelf->branches[SHELF_STATES];

    if (holds && is_states && shelf_resume_canary(shelf))
        return;
    if (holds && branch->unfinished && !(is_states && !is_free_of_canary(shelf)))
        shelf_resume_rollback(branch);
    else
        follow_published(branch);
}

void shelf_advance(struct shelf *shelf)
{
    const bool holds = lease_is_held(&shelf->lease);

    if (!holds && !shelf->mirrors)
        return; /* it may be ours in a moment */
    for (size_t i = 0; i < SHELF_KINDS; i++)
        advance_branch(&shelf->branches[i], holds);
    for (size_t i = 0; i < SHELF_KINDS; i++)
        publish_branch(&shelf->branches[i]);
}

/* A sync that failed is tried again at the next interval, or attempt to get the lease. */
static void on_synced(void *self, const char *error)
{
    struct shelf_branch *branch = self;

    if (error) {
        shelf_refuse_updates(branch, error);
        if (branch == &branch->shelf->branches[SHELF_SEALED])
            shelf_refuse_updates(&branch->shelf->branches[SHELF_SETTINGS], error);
        return;
    }
    branch->synced = branch->syncing;
    branch->unfinished = standby_unfinished(branch->standby);
    if (lease_is_held(&branch->shelf->lease))
        shelf_advance(branch->shelf);
}

static void on_news(void *self)
{
    struct shelf_branch *branch = self;

    if (is_mirroring(branch) && !branch->leads)
        shelf_advance(branch->shelf);
}

static void on_again(struct timer *timer)
{
    struct shelf *shelf = container_of(timer, struct shelf, again);
    int64_t interval = shelf->master->conf.files_republish_interval;

    if (interval > 0) {
        shelf_advance(shelf);
        timer_set(loop_timers(shelf->master->loop), &shelf->again,
                  clock_after(clock_now(), interval), on_again);
    }
}

static void on_changed(struct filewatch *watch, const char *path)
{
    struct shelf_branch *branch = container_of(watch, struct shelf_branch, watch);

    log_debug("%s has changed", path);
    publish_branch(branch);
    if (branch == &branch->shelf->branches[SHELF_SETTINGS])
        publish_branch(&branch->shelf->branches[SHELF_SEALED]);
}

/* --- who leads ---------------------------------------------------------------------- */

static void write_status(struct shelf *shelf, bool leads)
{
    const char *path = shelf->master->conf.publisher_status_file;
    AUTO_BUF struct buf text = BUF_INIT(4096);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    metrics_set(shelf->master->metrics, MASTER_PUBLISHER_LEADER, leads, NULL, NULL);
    if (!path || !path[0])
        return;
    buf_printf(&text, "%s %s\n", leads ? "leader" : "standby", shelf->master->id);
    if (fs_mkdirs(path_dirname(&arena, path), 0755, &err) < 0 ||
        fs_replace(path, buf_view(&text), NULL, &err) < 0)
        log_warning("publisher_status_file: %s", err.text);
}

static void on_got(struct lease *lease)
{
    struct shelf *shelf = container_of(lease, struct shelf, lease);

    shelf->apart_since = 0;
    shelf_git_lead(shelf);
    write_status(shelf, true);
    shelf_read_canary(shelf);
    shelf_advance(shelf);
}

static void on_lost(struct lease *lease)
{
    struct shelf *shelf = container_of(lease, struct shelf, lease);

    write_status(shelf, false);
    shelf_git_yield(shelf);
    shelf_forget_canary(shelf);
    if (shelf->vault)
        vault_yield(shelf->vault);
    for (size_t i = 0; i < SHELF_KINDS; i++)
        shelf->branches[i].leads = false;
}

static void on_taken(struct lease *lease)
{
    struct shelf *shelf = container_of(lease, struct shelf, lease);
    const int64_t now = clock_now();

    if (!shelf->apart_since)
        shelf->apart_since = now;
    if (now - shelf->apart_since >= shelf->master->conf.files_mirror_after)
        shelf->mirrors = true;
    shelf_advance(shelf);
}

/* --- operators ---------------------------------------------------------------------- */

static void on_status(void *self, const struct nats_msg *msg)
{
    struct shelf *shelf = self;
    const struct fileset_status_reply reply = {
        .master = shelf->master->id,
        .hostname = shelf->host,
        .since_unix = shelf->lease.since / CLOCK_SECOND,
    };

    if (lease_is_held(&shelf->lease) && msg->reply.n)
        master_answer(shelf->master, msg->reply, &fileset_status_reply_type, &reply);
}

/* --- life --------------------------------------------------------------------------- */

static void watch_folder(struct shelf *shelf, size_t kind)
{
    /* our own files in it change while the rest does not */
    static const char *const everything[] = { "**", "!.zester-*", "!.zester-*/**" };
    struct shelf_branch *branch = &shelf->branches[kind];
    struct err err;

    if (!shelf->master->conf.files_watch || access(folder_of(shelf, kind), F_OK) < 0)
        return; /* the interval finds what appears later */
    if (filewatch_start(&branch->watch, &shelf->hub,
                        &(struct filewatch_wish){ .folder = folder_of(shelf, kind),
                                                  .patterns = everything,
                                                  .count = ARRAY_LEN(everything),
                                                  .fn = on_changed },
                        &err) < 0)
        log_warning("watching %s: %s", folder_of(shelf, kind), err.text);
}

static void close_shelf(struct shelf *shelf)
{
    timer_clear(loop_timers(shelf->master->loop), &shelf->again);
    shelf_close_canary(shelf); /* before those that tell it that they end */
    shelf_git_stop(shelf);
    shelf_sweep_stop(shelf);
    nats_sub_free(shelf->updates);
    nats_sub_free(shelf->statuses);
    nats_sub_free(shelf->rollbacks);
    nats_sub_free(shelf->canaries);
    shelf->updates = shelf->statuses = shelf->rollbacks = shelf->canaries = NULL;
    settings_views_stop(&shelf->views);
    vault_free(shelf->vault);
    shelf->vault = NULL;
    for (size_t i = 0; i < SHELF_KINDS; i++)
        shelf_drop_rollback(&shelf->branches[i]);
    for (size_t i = 0; i < SHELF_KINDS; i++) {
        filewatch_stop(&shelf->branches[i].watch);
        publisher_free(shelf->branches[i].publisher);
        standby_free(shelf->branches[i].standby);
        shelf_refuse_updates(&shelf->branches[i], "this master is shutting down");
        vec_done(&shelf->branches[i].waiting);
        shelf->branches[i].publisher = NULL;
        shelf->branches[i].standby = NULL;
    }
}

static void *secret_of(struct shelf *shelf, size_t kind)
{
    return kind == SHELF_SEALED ? &shelf->account : NULL;
}

static int start_standby(struct shelf *shelf, size_t kind, struct err *err)
{
    struct shelf_branch *branch = &shelf->branches[kind];

    branch->standby = standby_new(&(struct standby_options){ .loop = shelf->master->loop,
                                                             .js = shelf->master->js,
                                                             .kind = &shelf_kinds[kind],
                                                             .folder = folder_of(shelf, kind),
                                                             .secret = secret_of(shelf, kind),
                                                             .trust = &shelf->trust,
                                                             .synced = on_synced,
                                                             .self = branch },
                                  err);
    return branch->standby ? 0 : -1;
}

static int start_branch(struct shelf *shelf, size_t kind, struct err *err)
{
    struct shelf_branch *branch = &shelf->branches[kind];

    *branch = (struct shelf_branch){ .shelf = shelf };
    if (shelf_kinds[kind].is_mirrored && start_standby(shelf, kind, err) < 0)
        return -1;
    branch->unfinished = branch->standby ? standby_unfinished(branch->standby) : 0;
    branch->publisher = publisher_new(
        &(struct publisher_options){ .js = shelf->master->js,
                                     .kind = &shelf_kinds[kind],
                                     .folder = folder_of(shelf, kind),
                                     .secret = secret_of(shelf, kind),
                                     .news = on_news,
                                     .canary = kind == SHELF_STATES ? shelf_note_canary : NULL,
                                     .self = branch,
                                     .chores = &shelf->chores,
                                     .lease = &shelf->lease,
                                     .keep = &shelf->master->conf.files_history,
                                     .master = shelf->master->id,
                                     .account = &shelf->account },
        err);
    if (!branch->publisher)
        return -1;
    if (kind != SHELF_SEALED)
        watch_folder(shelf, kind);
    return 0;
}

static struct nats_sub *listen_to(struct shelf *shelf, enum subject_kind subject, nats_msg_fn *fn,
                                  struct err *err)
{
    return nats_sub_new(shelf->master->js.conn,
                        &(struct nats_sub_options){
                            .subject = subject_template(subject), .message = fn, .self = shelf },
                        err);
}

static int start_listening(struct shelf *shelf, struct err *err)
{
    shelf->updates = listen_to(shelf, SUBJECT_FILES_UPDATE, shelf_on_update, err);
    if (shelf->updates)
        shelf->statuses = listen_to(shelf, SUBJECT_FILES_STATUS, on_status, err);
    if (shelf->statuses)
        shelf->rollbacks = listen_to(shelf, SUBJECT_FILES_ROLLBACK, shelf_on_rollback, err);
    if (shelf->rollbacks)
        shelf->canaries = listen_to(shelf, SUBJECT_FILES_CANARY, shelf_on_canary, err);
    if (!shelf->canaries)
        return -1;
    shelf->views = (struct settings_views){ .master = shelf->master,
                                            .lease = &shelf->lease,
                                            .vault = shelf->vault };
    return settings_views_start(&shelf->views, err);
}

static int start_shelf(void *self, struct err *err)
{
    struct shelf *shelf = self;

    shelf->lease = (struct lease){ .js = shelf->master->js,
                                   .key = LEASE,
                                   .holder = shelf->master->id,
                                   .got = on_got,
                                   .lost = on_lost,
                                   .taken = on_taken };
    shelf->apart_since = 0;
    shelf->mirrors = false;
    shelf->account =
        ((const struct authority *)master_find(shelf->master, &authority_service))->account;
    shelf->trust = authority_trust(shelf->master, "standby");
    for (size_t i = 0; i < SHELF_KINDS; i++)
        if (start_branch(shelf, i, err) < 0) {
            close_shelf(shelf);
            return -1;
        }
    shelf->vault = vault_new(&(struct vault_options){ .master = shelf->master,
                                                      .folder = folder_of(shelf, SHELF_SETTINGS),
                                                      .chores = &shelf->chores,
                                                      .fetchers = &shelf->fetchers,
                                                      .lease = &shelf->lease },
                             err);
    if (!shelf->vault || start_listening(shelf, err) < 0) {
        close_shelf(shelf);
        return -1;
    }
    write_status(shelf, false);
    shelf_git_start(shelf);
    shelf_sweep_start(shelf);
    on_again(&shelf->again);
    lease_start(&shelf->lease);
    return 0;
}

static void on_given_up(void *self)
{
    master_release(self);
}

static void stop_shelf(void *self)
{
    struct shelf *shelf = self;

    close_shelf(shelf);
    if (lease_stop(&shelf->lease, on_given_up, shelf->master))
        master_hold(shelf->master);
}

static void free_shelf(void *self)
{
    struct shelf *shelf = self;

    shelf_git_free(shelf);
    shelf_sweep_free(shelf);
    filewatch_hub_done(&shelf->hub);
    chores_close(&shelf->fetchers);
    chores_close(&shelf->chores);
    arena_done(&shelf->canary.arena);
    nats_nkey_done(&shelf->account);
    free(shelf);
}

static void reload_shelf(void *self)
{
    struct shelf *shelf = self;

    shelf_git_configure(shelf);
    if (shelf->vault)
        vault_configure(shelf->vault);
}

static enum health_status check_shelf(void *self, char message[static HEALTH_TEXT_MAX])
{
    const struct shelf *shelf = self;

    if (lease_is_held(&shelf->lease) && shelf->vault &&
        vault_is_failing(shelf->vault, message, HEALTH_TEXT_MAX))
        return HEALTH_DEGRADED;
    (void)snprintf(message, HEALTH_TEXT_MAX, "%s",
                   lease_is_held(&shelf->lease) ? "publishes" : "standby");
    return HEALTH_OK;
}

const struct master_service master_files_service = {
    .name = "publisher-lease",
    .open = open_shelf,
    .start = start_shelf,
    .stop = stop_shelf,
    .free = free_shelf,
    .reload = reload_shelf,
    .check = check_shelf,
};
