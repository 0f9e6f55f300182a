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
#include "master/audit.h"
#include "master/lease.h"
#include "master/publisher.h"
#include "master/services.h"
#include "master/settings_tree.h"
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
#include "wire/question.h"
#include "wire/subject.h"

#define WORKERS  2
#define LEASE    "publisher"
#define HOST_MAX 256

static const struct publisher_kind kinds[] = {
    { "settings", STORE_SETTINGS_FILES, "", true, settings_tree_prepare, SANITIZE_TAG },
    { "states", STORE_STATE_FILES, "", false, NULL, NULL },
    { "reactor", STORE_REACTOR_FILES, "reactor/", false, NULL, NULL },
};
#define KINDS    ARRAY_LEN(kinds)
#define SETTINGS 0 /* its row */
#define REACTOR  2

struct shelf;

/* One tree, and whoever watches it on disk. */
struct branch {
    struct shelf *shelf;
    struct filewatch watch;
    struct publisher *publisher;
};

struct shelf {
    struct master *master;
    struct chores chores;
    struct lease lease;
    struct filewatch_hub hub;
    struct branch branches[KINDS];
    struct vault *vault;
    struct nats_sub *updates, *statuses, *views;
    struct timer again;
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
    const char *const folders[KINDS] = { conf->settings_dir, conf->states_dir, conf->reactor_dir };

    return folders[kind];
}

/* --- rounds ------------------------------------------------------------------------- */

/* The publisher has logged what came of it. */
static void on_round(void *self, const struct publisher_outcome *outcome)
{
    struct branch *branch = self;
    struct shelf *shelf = branch->shelf;

    if (branch == &shelf->branches[SETTINGS] && shelf->vault)
        vault_reload(shelf->vault);
    if (branch == &shelf->branches[REACTOR] && outcome->files == 0 && !outcome->error[0])
        master_expect_no_rules(shelf->master);
}

static void publish_all(struct shelf *shelf)
{
    if (!lease_is_held(&shelf->lease))
        return;
    for (size_t i = 0; i < KINDS; i++)
        publisher_round(shelf->branches[i].publisher, false, on_round, &shelf->branches[i]);
}

static void on_again(struct timer *timer)
{
    struct shelf *shelf = container_of(timer, struct shelf, again);
    int64_t interval = shelf->master->conf.files_republish_interval;

    if (interval > 0) {
        publish_all(shelf);
        timer_set(loop_timers(shelf->master->loop), &shelf->again,
                  clock_after(clock_now(), interval), on_again);
    }
}

static void on_changed(struct filewatch *watch, const char *path)
{
    struct branch *branch = container_of(watch, struct branch, watch);

    log_debug("%s has changed", path);
    if (lease_is_held(&branch->shelf->lease))
        publisher_round(branch->publisher, false, on_round, branch);
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

    write_status(shelf, true);
    publish_all(shelf);
}

static void on_lost(struct lease *lease)
{
    write_status(container_of(lease, struct shelf, lease), false);
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

static void answer_with(struct shelf *shelf, struct str subject, const struct record_type *type,
                        const void *record)
{
    AUTO_BUF struct buf bytes = BUF_INIT(1 << 20);
    struct err err;

    if (record_encode(&bytes, type, record, &err) < 0 ||
        nats_publish(shelf->master->js.conn,
                     &(struct nats_pub){ .subject = subject, .payload = buf_view(&bytes) },
                     &err) < 0)
        log_warning("answer to an operator: %s", err.text);
}

struct one_update {
    struct update *update;
    const struct publisher_kind *kind;
};

static void on_updated(void *self, const struct publisher_outcome *outcome)
{
    const struct one_update *one = self; /* in the arena of the update */
    struct update *update = one->update;

    if (one->kind == &kinds[SETTINGS] && update->shelf->vault)
        vault_reload(update->shelf->vault);
    VEC_PUSH_IN(&update->arena, &update->reply.sets.list,
                (struct fileset_outcome){ .name = one->kind->name,
                                          .files = (int32_t)outcome->files,
                                          .changed = outcome->changed,
                                          .err = arena_strdup(&update->arena, outcome->error),
                                          .skipped = "" });
    if (outcome->error[0] && !update->error[0])
        update->error = arena_printf(&update->arena, "%s: %s", one->kind->name, outcome->error);
    if (--update->waiting > 0)
        return;
    audit_log(&(struct audit){ .action = "fileserver.update",
                               .by = update->operator,
                               .error = update->error });
    answer_with(update->shelf, (struct str){ update->subject, update->reply_size },
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
    for (size_t i = 0; i < KINDS; i++) {
        struct one_update *one = ARENA_NEW(&update->arena, struct one_update);

        *one = (struct one_update){ update, &kinds[i] };
        publisher_round(shelf->branches[i].publisher, question.force, on_updated, one);
    }
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
        answer_with(shelf, msg->reply, &fileset_status_reply_type, &reply);
}

/* A view of settings that somebody waits for. */
struct view {
    struct shelf *shelf;
    struct arena arena; /* the view is in it */
    struct str reply;
    const char *operator, * peel;
};

static void on_viewed(void *self, const struct value *settings, const char *error)
{
    struct view *view = self;
    struct arena arena = view->arena;
    const struct question_shown shown = { .settings = settings ? *settings : value_null(),
                                          .err = error };

    if (view->shelf->views) /* else this master is shutting down */
        answer_with(view->shelf, view->reply, &question_shown_type, &shown);
    audit_log(&(struct audit){
        .action = "settings.show", .by = view->operator, .peel = view->peel, .error = error });
    arena_done(&arena);
}

static void on_view(void *self, const struct nats_msg *msg)
{
    struct shelf *shelf = self;
    struct arena arena = ARENA_INIT;
    struct question_settings question;
    struct view *view;
    struct err err;

    if (!lease_is_held(&shelf->lease) || msg->reply.n == 0)
        return;
    if (record_decode(&arena, &question_settings_type, 1, arena_str(&arena, msg->payload),
                      &question, &err) < 0) {
        log_warning("a request to show settings cannot be read: %s", err.text);
        arena_done(&arena);
        return;
    }
    view = ARENA_NEW(&arena, struct view);
    *view = (struct view){ .shelf = shelf,
                           .reply = arena_str(&arena, msg->reply),
                           .operator= question.by,
                           .peel = question.peel };
    view->arena = arena;
    vault_show(shelf->vault, view->peel, on_viewed, view);
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
    nats_sub_free(shelf->views);
    shelf->updates = shelf->statuses = shelf->views = NULL;
    vault_free(shelf->vault);
    shelf->vault = NULL;
    for (size_t i = 0; i < KINDS; i++) {
        filewatch_stop(&shelf->branches[i].watch);
        publisher_free(shelf->branches[i].publisher);
        shelf->branches[i].publisher = NULL;
    }
}

static int start_branch(struct shelf *shelf, size_t kind, struct err *err)
{
    struct branch *branch = &shelf->branches[kind];

    branch->shelf = shelf;
    branch->publisher = publisher_new(&(struct publisher_options){ .js = shelf->master->js,
                                                                   .kind = &kinds[kind],
                                                                   .folder = folder_of(shelf, kind),
                                                                   .chores = &shelf->chores,
                                                                   .lease = &shelf->lease },
                                      err);
    if (!branch->publisher)
        return -1;
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
    if (shelf->statuses)
        shelf->views = listen_to(shelf, SUBJECT_SETTINGS_SHOW, on_view, err);
    return shelf->views ? 0 : -1;
}

static int start_shelf(void *self, struct err *err)
{
    struct shelf *shelf = self;

    shelf->lease = (struct lease){ .js = shelf->master->js,
                                   .key = LEASE,
                                   .holder = shelf->master->id,
                                   .got = on_got,
                                   .lost = on_lost };
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
