/*
 * The service "publisher-lease": one master at a time publishes the trees of states, settings and
 * rules: when it gets the lease, when a file changes, at intervals, and on request.
 */
#include "fleet/master/files/files_service.h"

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
#include "fleet/master/secrets/secret_cache.h"
#include "fleet/master/settings/sealed_tree.h"
#include "fleet/master/settings/settings_tree.h"
#include "fleet/master/settings/settings_views.h"
#include "fleet/master/files/files_check.h"
#include "fleet/master/files/standby.h"
#include "fleet/master/settings/sealed_secrets.h"
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

const struct publisher_kind files_service_kinds[FILES_SERVICE_KINDS] = {
    [FILES_SERVICE_SETTINGS] = { .name = "settings",
                                 .bucket = STORE_SETTINGS_FILES,
                                 .prefix = "",
                                 .is_bare = true,
                                 .prepare = settings_tree_prepare,
                                 .markers = sanitize_tags },
    [FILES_SERVICE_STATES] = { .name = "states",
                               .bucket = STORE_STATE_FILES,
                               .prefix = "",
                               .is_mirrored = true,
                               .history = "states" },
    [FILES_SERVICE_REACTOR] = { .name = "reactor",
                                .bucket = STORE_REACTOR_FILES,
                                .prefix = "reactor/",
                                .is_mirrored = true,
                                .history = "reactor" },
    /* the folder of settings again, for other masters */
    [FILES_SERVICE_SEALED] = { .name = "settings for masters",
                               .bucket = STORE_MASTER_SETTINGS,
                               .prefix = "",
                               .prepare = sealed_tree_seal,
                               .open = sealed_tree_open,
                               .markers = sanitize_tags,
                               .is_mirrored = true,
                               .history = "settings" },
};
static void *open_files_service(struct master *master, struct err *err)
{
    struct files_service *service = mem_zalloc(sizeof(*service));

    service->master = master;
    if (gethostname(service->host, sizeof(service->host) - 1) < 0)
        service->host[0] = '\0';
    if (background_tasks_open_workers(&service->background_tasks, master->loop, WORKERS, err) < 0 ||
        background_tasks_open_workers(&service->fetchers, master->loop, SECRET_CACHE_WORKERS, err) <
            0 ||
        files_service_git_open(service, err) < 0) {
        files_service_git_free(service);
        background_tasks_close(&service->fetchers);
        background_tasks_close(&service->background_tasks);
        free(service);
        return NULL;
    }
    service->check = files_check_new(service);
    filewatch_hub_init(&service->hub, master->loop);
    return service;
}

static const char *get_tree_folder(const struct files_service *service, size_t kind)
{
    const struct master_conf *conf = &service->master->conf;
    const char *const folders[FILES_SERVICE_KINDS] = { conf->settings_dir, conf->states_dir,
                                                       conf->reactor_dir, conf->settings_dir };

    return folders[kind];
}

/* --- rounds ------------------------------------------------------------------------- */

void files_service_note_round(struct files_service_branch *branch,
                              const struct publisher_outcome *outcome)
{
    struct files_service *service = branch->files_service;

    if (branch == &service->branches[FILES_SERVICE_SETTINGS] && service->sealed_secrets)
        sealed_secrets_reload(service->sealed_secrets);
    if (!outcome->manifest.n)
        return;
    branch->synced = publisher_number(branch->publisher);
    if (branch->standby)
        standby_note(branch->standby, outcome->manifest);
}

/* The publisher has logged the result. */
static void on_round(void *self, const struct publisher_outcome *outcome)
{
    struct files_service_branch *branch = self;
    struct files_service *service = branch->files_service;

    files_service_note_round(branch, outcome);
    if (branch == &service->branches[FILES_SERVICE_REACTOR] && outcome->files == 0 &&
        !outcome->error[0])
        master_expect_no_rules(service->master);
}

static bool is_mirroring(const struct files_service_branch *branch)
{
    return branch->standby && branch->files_service->master->conf.files_mirror &&
           !files_service_is_from_git(branch);
}

static bool is_folder_behind(const struct files_service_branch *branch)
{
    const uint64_t number = publisher_number(branch->publisher);

    return is_mirroring(branch) && !branch->leads && number && number != branch->synced;
}

bool files_service_may_publish(struct files_service_branch *branch)
{
    struct files_service *service = branch->files_service;

    if (branch == &service->branches[FILES_SERVICE_SETTINGS])
        return files_service_may_publish(&service->branches[FILES_SERVICE_SEALED]);
    if (branch->unfinished || branch->rollback ||
        (branch == &service->branches[FILES_SERVICE_STATES] &&
         files_service_is_held_by_canary(service)))
        return false;
    return files_service_is_in_step(branch);
}

bool files_service_is_in_step(struct files_service_branch *branch)
{
    if (!branch->leads && is_mirroring(branch))
        branch->leads = publisher_is_caught_up(branch->publisher) && !is_folder_behind(branch) &&
                        !standby_is_busy(branch->standby);
    return branch->leads || !is_mirroring(branch);
}

static void publish_branch(struct files_service_branch *branch)
{
    if (!lease_is_held(&branch->files_service->lease) || !files_service_may_publish(branch))
        return;
    files_service_begin_round(
        branch, &(struct files_service_round){ .wish = { .fn = on_round, .self = branch } });
    files_service_run_updates(branch);
}

static void follow_published(struct files_service_branch *branch)
{
    struct files_service *service = branch->files_service;
    const bool is_leading = lease_is_held(&service->lease) && !service->mirrors;

    if (!is_folder_behind(branch) || standby_is_busy(branch->standby))
        return;
    branch->syncing = publisher_number(branch->publisher);
    standby_sync(branch->standby, is_leading,
                 branch == &service->branches[FILES_SERVICE_STATES]
                     ? files_service_canary_manifest(service)
                     : NULL);
}

static bool is_free_of_canary(const struct files_service *service)
{
    return service->canary.is_known && !service->canary.is_there;
}

/* Interrupted work comes first; with a canary, that is its end. */
static void advance_branch(struct files_service_branch *branch, bool holds)
{
    struct files_service *service = branch->files_service;
    const bool is_states = branch == &service->branches[FILES_SERVICE_STATES];

    if (holds && is_states && files_service_resume_canary(service))
        return;
    if (holds && branch->unfinished && !(is_states && !is_free_of_canary(service)))
        files_service_resume_rollback(branch);
    else
        follow_published(branch);
}

void files_service_advance(struct files_service *service)
{
    const bool holds = lease_is_held(&service->lease);

    if (!holds && !service->mirrors)
        return; /* it may be ours in a moment */
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++)
        advance_branch(&service->branches[i], holds);
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++)
        publish_branch(&service->branches[i]);
}

/* A failed sync is retried at the next interval, or attempt to get the lease. */
static void on_folder_synced(void *self, const char *error)
{
    struct files_service_branch *branch = self;

    if (error) {
        files_service_refuse_updates(branch, error);
        if (branch == &branch->files_service->branches[FILES_SERVICE_SEALED])
            files_service_refuse_updates(&branch->files_service->branches[FILES_SERVICE_SETTINGS],
                                         error);
        return;
    }
    branch->synced = branch->syncing;
    branch->unfinished = standby_unfinished(branch->standby);
    if (lease_is_held(&branch->files_service->lease))
        files_service_advance(branch->files_service);
}

static void on_tree_news(void *self)
{
    struct files_service_branch *branch = self;

    if (is_mirroring(branch) && !branch->leads)
        files_service_advance(branch->files_service);
}

static void on_files_retry(struct timer *timer)
{
    struct files_service *service = container_of(timer, struct files_service, again);
    int64_t interval = service->master->conf.files_republish_interval;

    if (interval > 0) {
        files_service_advance(service);
        timer_set(loop_timers(service->master->loop), &service->again,
                  clock_after(clock_now(), interval), on_files_retry);
    }
}

static void on_folder_changed(struct filewatch *watch, const char *path)
{
    struct files_service_branch *branch = container_of(watch, struct files_service_branch, watch);

    log_debug("%s has changed", path);
    publish_branch(branch);
    if (branch == &branch->files_service->branches[FILES_SERVICE_SETTINGS])
        publish_branch(&branch->files_service->branches[FILES_SERVICE_SEALED]);
}

/* --- the lease ---------------------------------------------------------------------- */

static void write_status(struct files_service *service, bool leads)
{
    const char *path = service->master->conf.publisher_status_file;
    AUTO_BUF struct buf text = BUF_INIT(4096);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    metrics_set(service->master->metrics, MASTER_PUBLISHER_LEADER, leads, NULL, NULL);
    if (!path || !path[0])
        return;
    buf_printf(&text, "%s %s\n", leads ? "leader" : "standby", service->master->id);
    if (fs_mkdirs(path_dirname(&arena, path), 0755, &err) < 0 ||
        fs_replace(path, buf_view(&text), NULL, &err) < 0)
        log_warning("publisher_status_file: %s", err.text);
}

static void on_files_lease_got(struct lease *lease)
{
    struct files_service *service = container_of(lease, struct files_service, lease);

    service->apart_since = 0;
    files_service_git_lead(service);
    write_status(service, true);
    files_service_read_canary(service);
    files_service_advance(service);
}

static void on_files_lease_lost(struct lease *lease)
{
    struct files_service *service = container_of(lease, struct files_service, lease);

    write_status(service, false);
    files_service_git_yield(service);
    files_service_forget_canary(service);
    files_check_forget(service->check);
    if (service->sealed_secrets)
        sealed_secrets_yield(service->sealed_secrets);
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++)
        service->branches[i].leads = false;
}

static void on_files_lease_taken(struct lease *lease)
{
    struct files_service *service = container_of(lease, struct files_service, lease);
    const int64_t now = clock_now();

    if (!service->apart_since)
        service->apart_since = now;
    if (now - service->apart_since >= service->master->conf.files_mirror_after)
        service->mirrors = true;
    files_service_advance(service);
}

/* --- operators ---------------------------------------------------------------------- */

static void on_files_status_request(void *self, const struct nats_msg *msg)
{
    struct files_service *service = self;
    const struct fileset_status_reply reply = {
        .master = service->master->id,
        .hostname = service->host,
        .since_unix = service->lease.since / CLOCK_SECOND,
    };

    if (lease_is_held(&service->lease) && msg->reply.n)
        master_answer(service->master, msg->reply, &fileset_status_reply_type, &reply);
}

/* --- life --------------------------------------------------------------------------- */

static void watch_folder(struct files_service *service, size_t kind)
{
    /* our own files in it change while the rest does not */
    static const char *const everything[] = { "**", "!.zester-*", "!.zester-*/**" };
    struct files_service_branch *branch = &service->branches[kind];
    struct err err;

    if (!service->master->conf.files_watch || access(get_tree_folder(service, kind), F_OK) < 0)
        return; /* the interval finds what appears later */
    if (filewatch_start(&branch->watch, &service->hub,
                        &(struct filewatch_wish){ .folder = get_tree_folder(service, kind),
                                                  .patterns = everything,
                                                  .count = ARRAY_LEN(everything),
                                                  .fn = on_folder_changed },
                        &err) < 0)
        log_warning("watching %s: %s", get_tree_folder(service, kind), err.text);
}

static void close_files_service(struct files_service *service)
{
    timer_clear(loop_timers(service->master->loop), &service->again);
    files_service_close_canary(service); /* before the publishers that report to it */
    files_check_stop(service->check);
    files_service_git_stop(service);
    files_service_sweep_stop(service);
    nats_sub_free(service->updates);
    nats_sub_free(service->statuses);
    nats_sub_free(service->rollbacks);
    nats_sub_free(service->canaries);
    service->updates = service->statuses = service->rollbacks = service->canaries = NULL;
    settings_views_stop(&service->views);
    sealed_secrets_free(service->sealed_secrets);
    service->sealed_secrets = NULL;
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++)
        files_service_drop_rollback(&service->branches[i]);
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++) {
        filewatch_stop(&service->branches[i].watch);
        publisher_free(service->branches[i].publisher);
        standby_free(service->branches[i].standby);
        files_service_refuse_updates(&service->branches[i], "this master is shutting down");
        vec_done(&service->branches[i].waiting);
        service->branches[i].publisher = NULL;
        service->branches[i].standby = NULL;
    }
}

static void *get_tree_secrets(struct files_service *service, size_t kind)
{
    return kind == FILES_SERVICE_SEALED ? &service->account : NULL;
}

static int start_standby(struct files_service *service, size_t kind, struct err *err)
{
    struct files_service_branch *branch = &service->branches[kind];

    branch->standby =
        standby_new(&(struct standby_options){ .loop = service->master->loop,
                                               .js = service->master->js,
                                               .kind = &files_service_kinds[kind],
                                               .folder = get_tree_folder(service, kind),
                                               .secret = get_tree_secrets(service, kind),
                                               .trust = &service->trust,
                                               .synced = on_folder_synced,
                                               .self = branch },
                    err);
    return branch->standby ? 0 : -1;
}

static void on_tree_read(void *self, const struct publisher_question *question)
{
    struct files_service_branch *branch = self;

    files_check_ask(branch->files_service->check, branch, question);
}

static void on_tree_published(void *self, bool of_canary)
{
    static const enum tree_board_row rows[FILES_SERVICE_KINDS] = {
        [FILES_SERVICE_SETTINGS] = TREE_BOARD_SETTINGS,
        [FILES_SERVICE_STATES] = TREE_BOARD_STATES,
        [FILES_SERVICE_REACTOR] = TREE_BOARD_REACTOR,
    };
    const struct files_service_branch *branch = self;
    struct files_service *service = branch->files_service;

    if (branch != &service->branches[FILES_SERVICE_SEALED] && branch->publisher)
        tree_board_name(&service->master->trees,
                        of_canary ? TREE_BOARD_CANARY : rows[branch - service->branches],
                        publisher_tree(branch->publisher, of_canary));
}

struct value files_service_show_trees(const struct files_service *service, struct arena *arena)
{
    const struct files_service_branch *branches = service->branches;
    const struct publisher *states = branches[FILES_SERVICE_STATES].publisher;

    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++)
        if (!branches[i].publisher)
            return value_null(); /* the master is shutting down */
    return liveness_show_trees(
        arena, &(struct liveness_trees){
                   .states = publisher_tree(states, false),
                   .canary = publisher_tree(states, true),
                   .settings = publisher_tree(branches[FILES_SERVICE_SETTINGS].publisher, false),
                   .reactor = publisher_tree(branches[FILES_SERVICE_REACTOR].publisher, false),
                   .problem = "" });
}

static int start_tree_branch(struct files_service *service, size_t kind, struct err *err)
{
    struct files_service_branch *branch = &service->branches[kind];

    *branch = (struct files_service_branch){ .files_service = service };
    if (files_service_kinds[kind].is_mirrored && start_standby(service, kind, err) < 0)
        return -1;
    branch->unfinished = branch->standby ? standby_unfinished(branch->standby) : 0;
    branch->publisher = publisher_new(
        &(struct publisher_options){
            .js = service->master->js,
            .kind = &files_service_kinds[kind],
            .folder = get_tree_folder(service, kind),
            .secret = get_tree_secrets(service, kind),
            .news = on_tree_news,
            .check = on_tree_read,
            .tree = on_tree_published,
            .canary = kind == FILES_SERVICE_STATES ? files_service_note_canary : NULL,
            .self = branch,
            .background_tasks = &service->background_tasks,
            .lease = &service->lease,
            .keep = &service->master->conf.files_history,
            .master = service->master->id,
            .account = &service->account },
        err);
    if (!branch->publisher)
        return -1;
    if (kind != FILES_SERVICE_SEALED)
        watch_folder(service, kind);
    return 0;
}

static struct nats_sub *listen_to_operators(struct files_service *service,
                                            enum subject_kind subject, nats_msg_fn *fn,
                                            struct err *err)
{
    return nats_sub_new(service->master->js.conn,
                        &(struct nats_sub_options){
                            .subject = subject_template(subject), .message = fn, .self = service },
                        err);
}

static int start_listening(struct files_service *service, struct err *err)
{
    service->updates =
        listen_to_operators(service, SUBJECT_FILES_UPDATE, files_service_on_update, err);
    if (service->updates)
        service->statuses =
            listen_to_operators(service, SUBJECT_FILES_STATUS, on_files_status_request, err);
    if (service->statuses)
        service->rollbacks =
            listen_to_operators(service, SUBJECT_FILES_ROLLBACK, files_service_on_rollback, err);
    if (service->rollbacks)
        service->canaries =
            listen_to_operators(service, SUBJECT_FILES_CANARY, files_service_on_canary, err);
    if (!service->canaries)
        return -1;
    service->views = (struct settings_views){ .master = service->master,
                                              .lease = &service->lease,
                                              .sealed_secrets = service->sealed_secrets };
    return settings_views_start(&service->views, err);
}

static int start_files_service(void *self, struct err *err)
{
    struct files_service *service = self;

    service->lease = (struct lease){ .js = service->master->js,
                                     .key = LEASE,
                                     .holder = service->master->id,
                                     .got = on_files_lease_got,
                                     .lost = on_files_lease_lost,
                                     .taken = on_files_lease_taken };
    service->apart_since = 0;
    service->mirrors = false;
    files_check_start(service->check);
    service->account =
        ((const struct authority *)master_find(service->master, &authority_service))->account;
    service->trust = authority_trust(service->master, "standby");
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++)
        if (start_tree_branch(service, i, err) < 0) {
            close_files_service(service);
            return -1;
        }
    service->sealed_secrets = sealed_secrets_new(
        &(struct sealed_secrets_options){ .master = service->master,
                                          .folder =
                                              get_tree_folder(service, FILES_SERVICE_SETTINGS),
                                          .background_tasks = &service->background_tasks,
                                          .fetchers = &service->fetchers,
                                          .lease = &service->lease },
        err);
    if (!service->sealed_secrets || start_listening(service, err) < 0) {
        close_files_service(service);
        return -1;
    }
    write_status(service, false);
    files_service_git_start(service);
    files_service_sweep_start(service);
    on_files_retry(&service->again);
    lease_start(&service->lease);
    return 0;
}

static void on_files_lease_given_up(void *self)
{
    master_release(self);
}

static void stop_files_service(void *self)
{
    struct files_service *service = self;

    close_files_service(service);
    if (lease_stop(&service->lease, on_files_lease_given_up, service->master))
        master_hold(service->master);
}

static void free_files_service(void *self)
{
    struct files_service *service = self;

    files_service_git_free(service);
    files_service_sweep_free(service);
    filewatch_hub_done(&service->hub);
    background_tasks_close(&service->fetchers);
    background_tasks_close(&service->background_tasks);
    files_check_free(service->check);
    arena_done(&service->canary.arena);
    nats_nkey_done(&service->account);
    free(service);
}

static void reload_files_service(void *self)
{
    struct files_service *service = self;

    files_service_git_configure(service);
    if (service->sealed_secrets)
        sealed_secrets_configure(service->sealed_secrets);
}

static enum health_status check_files_service(void *self, char message[static HEALTH_TEXT_MAX])
{
    const struct files_service *service = self;

    if (lease_is_held(&service->lease) && service->sealed_secrets &&
        sealed_secrets_is_failing(service->sealed_secrets, message, HEALTH_TEXT_MAX))
        return HEALTH_DEGRADED;
    if (lease_is_held(&service->lease) && files_check_problem(service->check)[0]) {
        (void)snprintf(message, HEALTH_TEXT_MAX, "%s", files_check_problem(service->check));
        return HEALTH_DEGRADED;
    }
    (void)snprintf(message, HEALTH_TEXT_MAX, "%s",
                   lease_is_held(&service->lease) ? "publishes" : "standby");
    return HEALTH_OK;
}

const struct master_service master_files_service = {
    .name = "publisher-lease",
    .open = open_files_service,
    .start = start_files_service,
    .stop = stop_files_service,
    .free = free_files_service,
    .reload = reload_files_service,
    .check = check_files_service,
};
