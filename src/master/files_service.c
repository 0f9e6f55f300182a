/*
 * The service "publisher-lease": one master at a time publishes the trees of states, settings and
 * rules: when it gets the lease, when a file changes, every so often, and when an operator asks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "master/announce.h"
#include "master/audit.h"
#include "master/authority.h"
#include "master/lease.h"
#include "master/publisher.h"
#include "master/services.h"
#include "master/settings_box.h"
#include "master/settings_tree.h"
#include "master/settings_views.h"
#include "master/standby.h"
#include "master/vault.h"
#include "nats/conn.h"
#include "settings/sanitize.h"
#include "supervise/filewatch.h"
#include "sys/chore.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/loop.h"
#include "sys/path.h"
#include "wire/fileset.h"
#include "wire/subject.h"

#define WORKERS  2
#define LEASE    "publisher"
#define HOST_MAX 256

static const struct publisher_kind kinds[] = {
    { .name = "settings",
      .bucket = STORE_SETTINGS_FILES,
      .prefix = "",
      .is_bare = true,
      .prepare = settings_tree_prepare,
      .marker = SANITIZE_TAG },
    { .name = "states", .bucket = STORE_STATE_FILES, .prefix = "", .is_mirrored = true },
    { .name = "reactor", .bucket = STORE_REACTOR_FILES, .prefix = "reactor/", .is_mirrored = true },
    /* the folder of settings again, for other masters */
    { .name = "settings for masters",
      .bucket = STORE_MASTER_SETTINGS,
      .prefix = "",
      .prepare = settings_box_seal,
      .open = settings_box_open,
      .marker = SANITIZE_TAG,
      .is_mirrored = true },
};
#define KINDS    ARRAY_LEN(kinds)
#define SETTINGS 0 /* its row */
#define REACTOR  2
#define SEALED   (KINDS - 1)

struct one_update;
struct shelf;

static publisher_fn on_updated;

/* One tree, and whoever watches it on disk. */
struct branch {
    struct shelf *shelf;
    struct filewatch watch;
    struct publisher *publisher;
    struct standby *standby; /* NULL: it is not mirrored */
    uint64_t synced;  /* the number of the set that the folder has, or was published from it */
    uint64_t syncing; /* that a sync begins with */
    VEC(struct one_update *) waiting; /* until it may be published */
    bool leads; /* the folder is what must be published, as long as we hold the lease */
};

struct shelf {
    struct master *master;
    struct chores chores;
    struct lease lease;
    struct filewatch_hub hub;
    struct branch branches[KINDS];
    struct vault *vault;
    struct nats_sub *updates, *statuses;
    struct settings_views views;
    struct timer again;
    struct nats_nkey account;
    int64_t apart_since; /* clock_now since when another master has the lease; 0: it has not */
    bool mirrors;        /* another has had it for long: the folders follow what it publishes */
    char host[HOST_MAX];
};

static void *open_shelf(struct master *master, struct err *err)
{
    struct shelf *shelf = mem_zalloc(sizeof(*shelf));

    shelf->master = master;
    if (gethostname(shelf->host, sizeof(shelf->host) - 1) < 0)
        shelf->host[0] = '\0';
    if (chores_open_workers(&shelf->chores, master->loop, WORKERS, err) < 0) {
        free(shelf);
        return NULL;
    }
    filewatch_hub_init(&shelf->hub, master->loop);
    return shelf;
}

static const char *folder_of(const struct shelf *shelf, size_t kind)
{
    const struct master_conf *conf = &shelf->master->conf;
    const char *const folders[KINDS] = { conf->settings_dir, conf->states_dir, conf->reactor_dir,
                                         conf->settings_dir };

    return folders[kind];
}

/* --- rounds ------------------------------------------------------------------------- */

/* What was published from the folder. */
static void note_round(struct branch *branch, const struct publisher_outcome *outcome)
{
    struct shelf *shelf = branch->shelf;

    if (branch == &shelf->branches[SETTINGS] && shelf->vault)
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
    struct branch *branch = self;
    struct shelf *shelf = branch->shelf;

    note_round(branch, outcome);
    if (branch == &shelf->branches[REACTOR] && outcome->files == 0 && !outcome->error[0])
        master_expect_no_rules(shelf->master);
}

static bool is_mirroring(const struct branch *branch)
{
    return branch->standby && branch->shelf->master->conf.files_mirror;
}

static bool is_behind(const struct branch *branch)
{
    const uint64_t number = publisher_number(branch->publisher);

    return is_mirroring(branch) && !branch->leads && number && number != branch->synced;
}

/* May the folder be published? Not before it has what another master published. */
static bool may_publish(struct branch *branch)
{
    struct shelf *shelf = branch->shelf;

    if (branch == &shelf->branches[SETTINGS])
        return may_publish(&shelf->branches[SEALED]);
    if (!branch->leads && is_mirroring(branch))
        branch->leads = publisher_is_caught_up(branch->publisher) && !is_behind(branch) &&
                        !standby_is_busy(branch->standby);
    return branch->leads || !is_mirroring(branch);
}

static void publish_branch(struct branch *branch)
{
    if (!lease_is_held(&branch->shelf->lease) || !may_publish(branch))
        return;
    publisher_round(branch->publisher, false, on_round, branch);
    while (branch->waiting.n)
        publisher_round(branch->publisher, false, on_updated,
                        branch->waiting.p[--branch->waiting.n]);
}

static void refuse_updates(struct branch *branch, const char *why)
{
    while (branch->waiting.n)
        on_updated(branch->waiting.p[--branch->waiting.n],
                   &(struct publisher_outcome){ .error = why });
}

/* Folders follow what is published, and are published by the holder of the lease. */
static void advance_shelf(struct shelf *shelf)
{
    const bool holds = lease_is_held(&shelf->lease);

    if (!holds && !shelf->mirrors)
        return; /* it may be ours in a moment */
    for (size_t i = 0; i < KINDS; i++) {
        struct branch *branch = &shelf->branches[i];

        if (is_behind(branch) && !standby_is_busy(branch->standby)) {
            branch->syncing = publisher_number(branch->publisher);
            standby_sync(branch->standby, holds && !shelf->mirrors);
        }
    }
    for (size_t i = 0; i < KINDS; i++)
        publish_branch(&shelf->branches[i]);
}

/* A sync that failed is tried again at the next interval, or attempt to get the lease. */
static void on_synced(void *self, const char *error)
{
    struct branch *branch = self;

    if (error) {
        refuse_updates(branch, error);
        if (branch == &branch->shelf->branches[SEALED])
            refuse_updates(&branch->shelf->branches[SETTINGS], error);
        return;
    }
    branch->synced = branch->syncing;
    if (lease_is_held(&branch->shelf->lease))
        advance_shelf(branch->shelf);
}

static void on_news(void *self)
{
    struct branch *branch = self;

    if (is_mirroring(branch) && !branch->leads)
        advance_shelf(branch->shelf);
}

static void on_again(struct timer *timer)
{
    struct shelf *shelf = container_of(timer, struct shelf, again);
    int64_t interval = shelf->master->conf.files_republish_interval;

    if (interval > 0) {
        advance_shelf(shelf);
        timer_set(loop_timers(shelf->master->loop), &shelf->again,
                  clock_after(clock_now(), interval), on_again);
    }
}

static void on_changed(struct filewatch *watch, const char *path)
{
    struct branch *branch = container_of(watch, struct branch, watch);

    log_debug("%s has changed", path);
    publish_branch(branch);
    if (branch == &branch->shelf->branches[SETTINGS])
        publish_branch(&branch->shelf->branches[SEALED]);
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
    write_status(shelf, true);
    advance_shelf(shelf);
}

static void on_lost(struct lease *lease)
{
    struct shelf *shelf = container_of(lease, struct shelf, lease);

    write_status(shelf, false);
    for (size_t i = 0; i < KINDS; i++)
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
    advance_shelf(shelf);
}

/* --- operators ---------------------------------------------------------------------- */

/* An update that somebody waits for. */
struct update {
    struct shelf *shelf;
    struct arena arena;
    struct fileset_update_reply reply;
    size_t waiting, reply_size;
    const char *operator;
    const char *error; /* of the first set that was not published; "": none */
    char subject[];
};

struct one_update {
    struct update *update;
    struct branch *branch;
    const struct publisher_kind *kind;
};

static void add_outcome(struct one_update *one, const struct publisher_outcome *outcome)
{
    struct update *update = one->update;

    VEC_PUSH_IN(&update->arena, &update->reply.sets.list,
                (struct fileset_outcome){ .name = one->kind->name,
                                          .files = (int32_t)outcome->files,
                                          .changed = outcome->changed,
                                          .err = arena_strdup(&update->arena, outcome->error),
                                          .skipped = "" });
}

static int compare_outcomes(const void *a, const void *b)
{
    return strcmp(((const struct fileset_outcome *)a)->name,
                  ((const struct fileset_outcome *)b)->name);
}

/* Whichever was ready first. */
static void sort_outcomes(struct update *update)
{
    if (update->reply.sets.list.n > 1)
        qsort(update->reply.sets.list.p, update->reply.sets.list.n,
              sizeof(update->reply.sets.list.p[0]), compare_outcomes);
}

static void on_updated(void *self, const struct publisher_outcome *outcome)
{
    struct one_update *one = self; /* in the arena of the update */
    struct update *update = one->update;

    note_round(one->branch, outcome);
    if (one->kind != &kinds[SEALED])
        add_outcome(one, outcome);
    if (outcome->error[0] && !update->error[0])
        update->error = arena_printf(&update->arena, "%s: %s", one->kind->name, outcome->error);
    if (--update->waiting > 0)
        return;
    sort_outcomes(update);
    audit_log(&(struct audit){ .action = "fileserver.update",
                               .by = update->operator,
                               .error = update->error });
    master_answer(update->shelf->master, (struct str){ update->subject, update->reply_size },
                  &fileset_update_reply_type, &update->reply);
    arena_done(&update->arena);
    free(update);
}

static void on_update(void *self, const struct nats_msg *msg)
{
    struct shelf *shelf = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fileset_update question = { 0 };
    struct update *update;
    struct err err;

    if (!lease_is_held(&shelf->lease) || msg->reply.n == 0)
        return;
    if (record_decode(&arena, &fileset_update_type, 1, msg->payload, &question, &err) < 0)
        log_warning("a request to publish cannot be read: %s", err.text);
    update = mem_zalloc(sizeof(*update) + msg->reply.n);
    update->shelf = shelf;
    update->reply.master = shelf->master->id;
    update->reply_size = msg->reply.n;
    memcpy(update->subject, msg->reply.p, msg->reply.n);
    update->waiting = KINDS;
    update->operator = arena_strdup(&update->arena, question.operator ? question.operator : "");
    update->error = "";
    for (size_t i = 0; i < KINDS; i++)
        shelf->branches[i].leads |= question.force; /* this folder counts */
    for (size_t i = 0; i < KINDS; i++) {
        struct one_update *one = ARENA_NEW(&update->arena, struct one_update);

        *one = (struct one_update){ update, &shelf->branches[i], &kinds[i] };
        if (may_publish(one->branch))
            publisher_round(one->branch->publisher, question.force, on_updated, one);
        else
            VEC_PUSH(&one->branch->waiting, one);
    }
    advance_shelf(shelf);
}

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
    static const char *const everything[] = { "**" };
    struct branch *branch = &shelf->branches[kind];
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
    nats_sub_free(shelf->updates);
    nats_sub_free(shelf->statuses);
    shelf->updates = shelf->statuses = NULL;
    settings_views_stop(&shelf->views);
    vault_free(shelf->vault);
    shelf->vault = NULL;
    for (size_t i = 0; i < KINDS; i++) {
        filewatch_stop(&shelf->branches[i].watch);
        publisher_free(shelf->branches[i].publisher);
        standby_free(shelf->branches[i].standby);
        refuse_updates(&shelf->branches[i], "this master is shutting down");
        vec_done(&shelf->branches[i].waiting);
        shelf->branches[i].publisher = NULL;
        shelf->branches[i].standby = NULL;
    }
}

static void *secret_of(struct shelf *shelf, size_t kind)
{
    return kind == SEALED ? &shelf->account : NULL;
}

static int start_standby(struct shelf *shelf, size_t kind, struct err *err)
{
    struct branch *branch = &shelf->branches[kind];

    branch->standby = standby_new(&(struct standby_options){ .loop = shelf->master->loop,
                                                             .js = shelf->master->js,
                                                             .kind = &kinds[kind],
                                                             .folder = folder_of(shelf, kind),
                                                             .secret = secret_of(shelf, kind),
                                                             .synced = on_synced,
                                                             .self = branch },
                                  err);
    return branch->standby ? 0 : -1;
}

static int start_branch(struct shelf *shelf, size_t kind, struct err *err)
{
    struct branch *branch = &shelf->branches[kind];

    *branch = (struct branch){ .shelf = shelf };
    if (kinds[kind].is_mirrored && start_standby(shelf, kind, err) < 0)
        return -1;
    branch->publisher = publisher_new(&(struct publisher_options){ .js = shelf->master->js,
                                                                   .kind = &kinds[kind],
                                                                   .folder = folder_of(shelf, kind),
                                                                   .secret = secret_of(shelf, kind),
                                                                   .news = on_news,
                                                                   .self = branch,
                                                                   .chores = &shelf->chores,
                                                                   .lease = &shelf->lease },
                                      err);
    if (!branch->publisher)
        return -1;
    if (kind != SEALED)
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
    shelf->updates = listen_to(shelf, SUBJECT_FILES_UPDATE, on_update, err);
    if (shelf->updates)
        shelf->statuses = listen_to(shelf, SUBJECT_FILES_STATUS, on_status, err);
    if (!shelf->statuses)
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
    for (size_t i = 0; i < KINDS; i++)
        if (start_branch(shelf, i, err) < 0) {
            close_shelf(shelf);
            return -1;
        }
    shelf->vault = vault_new(&(struct vault_options){ .master = shelf->master,
                                                      .folder = folder_of(shelf, SETTINGS),
                                                      .chores = &shelf->chores,
                                                      .lease = &shelf->lease },
                             err);
    if (!shelf->vault || start_listening(shelf, err) < 0) {
        close_shelf(shelf);
        return -1;
    }
    write_status(shelf, false);
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

    filewatch_hub_done(&shelf->hub);
    chores_close(&shelf->chores);
    nats_nkey_done(&shelf->account);
    free(shelf);
}

static enum health_status check_shelf(void *self, char message[static HEALTH_TEXT_MAX])
{
    const struct shelf *shelf = self;

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
    .check = check_shelf,
};
