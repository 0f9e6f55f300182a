#include "fleet/peel/peel.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/mirror.h"
#include "fleet/bus/store.h"
#include "fleet/bus/tree_trust.h"
#include "states/local/perform.h"
#include "states/local/plan_cache.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/xkey.h"
#include "fleet/peel/scheduler.h"
#include "fleet/peel/basket.h"
#include "fleet/peel/canary.h"
#include "fleet/peel/catchup.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/maintenance_window.h"
#include "fleet/peel/job_queue.h"
#include "fleet/peel/facts_publisher.h"
#include "fleet/peel/event_socket.h"
#include "fleet/peel/heartbeat.h"
#include "fleet/peel/identity.h"
#include "fleet/peel/data_store.h"
#include "fleet/peel/beacon_runner.h"
#include "fleet/peel/metric.h"
#include "fleet/peel/outbox.h"
#include "fleet/peel/peel_settings.h"
#include "fleet/peel/revocations.h"
#include "fleet/peel/schedule_admin.h"
#include "fleet/peel/snapshot.h"
#include "fleet/peel/startup.h"
#include "fleet/peel/uplink.h"
#include "fleet/peel/peel_health.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "core/sys/path.h"
#include "core/sys/trim.h"
#include "language/target/target.h"
#include "fleet/wire/exec.h"

/* Not "settings": a master on the same machine has what it publishes there. */
#define SETTINGS_FOLDER "published-settings"
#define SIGNED_FOLDER   "signed" /* which trees were accepted */
/* How often it is checked whether what runs has ended. */
#define STOP_LOOK (INT64_C(20) * 1000000)
/* After the last thing that happened. */
#define TRIM_AFTER (INT64_C(3) * 1000000000)

struct peel {
    struct arena arena;
    struct peel_options options;
    const struct peel_conf *conf;
    struct peel_identity identity;
    struct data_store data_store;
    struct facts_publisher *facts_publisher;
    char curve_key[NATS_NKEY_TEXT_SIZE];
    struct maintenance_window maintenance_window;
    struct job_queue *job_queue;
    struct event_socket *event_socket;
    struct beacon_runner *beacon_runner;
    struct tree_trust trust;
    struct mirror *states, *settings_files;
    struct peel_canary canary;
    struct peel_settings *peel_settings;
    struct revocations *revocations;
    struct catchup catchup;
    struct basket *basket;
    struct scheduler *scheduler;
    struct schedule_admin *schedule_admin;
    struct startup startup;
    struct heartbeat heartbeat;
    struct metrics *metrics;
    struct uplink *uplink;
    struct peel_health *peel_health;
    struct timer stopping, trim;
    int64_t began;
    bool is_stopping, is_closing;
};

const char *peel_id(const struct peel *peel)
{
    return peel->identity.id;
}

bool peel_is_connected(const struct peel *peel)
{
    return uplink_is_connected(peel->uplink);
}

/* --- what the job queue asks for ------------------------------------------------------- */

static struct snapshot *hold_facts(void *self)
{
    const struct peel *peel = self;

    return facts_publisher_hold(peel->facts_publisher);
}

static struct snapshot *hold_settings(void *self, const char **ret_why)
{
    const struct peel *peel = self;

    *ret_why = PEEL_SETTINGS_UNKNOWN;
    return peel_settings_hold(peel->peel_settings);
}

/* A fact was set. */
static void on_custom_facts_changed(void *self)
{
    const struct peel *peel = self;

    if (!peel->is_closing)
        facts_publisher_refresh(peel->facts_publisher);
}

/* --- connection ------------------------------------------------------------------- */

/* Starting, enrolling and jobs need more memory than waiting. */
static void on_trim(struct timer *timer)
{
    const struct peel *peel = container_of(timer, struct peel, trim);
    int64_t again = TRIM_AFTER;

    if (job_queue_is_idle(peel->job_queue)) {
        again = job_queue_trim(peel->job_queue) ? 0 : PLAN_CACHE_AGE;
        trim_memory();
    }
    if (again > 0)
        timer_set(loop_timers(peel->options.loop), timer, clock_after(clock_now(), again), on_trim);
}

static void trim_later(struct peel *peel)
{
    if (peel->options.workers)
        return;
    timer_set(loop_timers(peel->options.loop), &peel->trim, clock_after(clock_now(), TRIM_AFTER),
              on_trim);
}

static void on_peel_job_ended(void *self, const struct exec_request *request,
                              const struct job_queue_end *end)
{
    struct peel *peel = self;
    const char *result = end->success ? "success" : "failed";

    metrics_add(peel->metrics, PEEL_METRIC_REQUESTS, 1, request->module, result);
    if (perform_class(request->module) != PERFORM_QUICK)
        trim_later(peel);
    if (perform_class(request->module) != PERFORM_READ && peel->beacon_runner)
        beacon_runner_acted(peel->beacon_runner);
    if (perform_class(request->module) != PERFORM_STATES)
        return;
    metrics_add(peel->metrics, PEEL_METRIC_APPLY, 1, request->id, result);
    metrics_observe(peel->metrics, PEEL_METRIC_APPLY_SECONDS, (double)end->duration / CLOCK_SECOND,
                    request->id, result);
    heartbeat_tell_run(&peel->heartbeat, end->outcome);
}

/* Account that signs for masters. */
static void trust_account(struct peel *peel)
{
    memcpy(peel->trust.account, uplink_account(peel->uplink)->key.public_key,
           sizeof(peel->trust.account));
    peel->trust.has_account = true;
}

static void on_peel_connected(void *self, struct nats_js *js, bool first)
{
    struct peel *peel = self;
    struct err err;

    trust_account(peel);
    revocations_connect(peel->revocations, js); /* before a request comes */
    if (first && job_queue_connect(peel->job_queue, js->conn, &err) < 0)
        log_error("cannot listen for requests error=%s", err.text);
    if (first) {
        outbox_connect(peel->data_store.outbox, js);
        event_socket_connect(peel->event_socket, js);
        beacon_runner_connect(peel->beacon_runner, js);
    }
    beacon_runner_resume(peel->beacon_runner);
    facts_publisher_connect(peel->facts_publisher, js);
    heartbeat_connect(&peel->heartbeat, js);
    mirror_connect(peel->states, js);
    mirror_connect(peel->settings_files, js);
    peel_settings_connect(peel->peel_settings, js);
    basket_connect(peel->basket, js);
    trim_later(peel);
}

static void on_closing(void *self)
{
    struct peel *peel = self;

    mirror_connect(peel->states, NULL);
    mirror_connect(peel->settings_files, NULL);
    catchup_check(&peel->catchup);
    peel_settings_connect(peel->peel_settings, NULL);
    basket_connect(peel->basket, NULL);
    facts_publisher_connect(peel->facts_publisher, NULL);
    heartbeat_connect(&peel->heartbeat, NULL);
    revocations_connect(peel->revocations, NULL);
    outbox_connect(peel->data_store.outbox, NULL);
    event_socket_connect(peel->event_socket, NULL);
    beacon_runner_connect(peel->beacon_runner, NULL);
    (void)job_queue_connect(peel->job_queue, NULL, NULL);
}

static void on_facts_published(void *self)
{
    struct peel *peel = self;

    metrics_add(peel->metrics, PEEL_METRIC_FACTS_SYNC, 1, NULL, NULL);
}

/* --- files and settings ----------------------------------------------------------- */

static void on_tree_sync_failed(void *self, const char *bucket, const char *problem)
{
    (void)self;
    log_warning("files not synced, trying again bucket=%s error=%s", bucket, problem);
}

static void log_synced(const struct mirror_sync *sync)
{
    if (sync->changed)
        log_info("files synced bucket=%s files=%zu", sync->bucket, sync->files);
}

static void on_states_synced(void *self, const struct mirror_sync *sync)
{
    const struct peel *peel = self;

    log_synced(sync);
    if (!peel->is_closing)
        facts_publisher_put_canary(peel->facts_publisher, sync->canary);
}

/* Does the canary of the states mean this machine? */
static bool follow_canary(void *self, struct str record)
{
    struct peel *peel = self;
    struct snapshot *facts = facts_publisher_hold(peel->facts_publisher);
    const bool was_meant = peel->canary.is_meant;
    const bool is_meant = canary_note(
        &peel->canary, record,
        &(struct target_subject){ .id = str_from(peel->identity.id), .facts = &facts->value });

    snapshot_drop(facts);
    if (is_meant != was_meant)
        log_info("%s", is_meant ? "following the canary of the states"
                                : "following the states of all peels");
    return is_meant;
}

static bool is_canary_stale(const struct peel *peel)
{
    struct snapshot *facts = facts_publisher_hold(peel->facts_publisher);
    const bool is_stale = canary_has_changed(
        &peel->canary,
        &(struct target_subject){ .id = str_from(peel->identity.id), .facts = &facts->value });

    snapshot_drop(facts);
    return is_stale;
}

static void on_settings_synced(void *self, const struct mirror_sync *sync)
{
    struct peel *peel = self;

    log_synced(sync);
    /* the first time they are resolved in any case */
    if (!peel->is_closing)
        peel_settings_refresh(peel->peel_settings);
}

static void on_tree_fetched(void *self)
{
    struct peel *peel = self;

    if (peel->is_closing)
        return;
    heartbeat_tell_trees(&peel->heartbeat);
    catchup_check(&peel->catchup);
}

static int ask_peel_basket(void *self, const struct basket_question *question, struct arena *arena,
                           struct value *ret, struct err *err)
{
    const struct peel *peel = self;

    return basket_ask(peel->basket, question, arena, ret, err);
}

/* Templates of settings see facts, and targets of a canary do. */
static void on_facts_replaced(void *self)
{
    struct peel *peel = self;

    if (!peel->is_closing && peel->peel_settings && mirror_has_synced(peel->settings_files))
        peel_settings_refresh(peel->peel_settings);
    if (!peel->is_closing && peel->states && is_canary_stale(peel))
        mirror_refresh(peel->states);
    basket_refresh(peel->is_closing ? NULL : peel->basket);
}

/* Schedule and beacons, from configuration and settings. */
static void read_overlay(struct peel *peel)
{
    struct snapshot *settings = peel_settings_hold(peel->peel_settings);
    const struct value *map = settings ? &settings->value : NULL;
    const struct value *windows = map ? value_get(map, "maintenance_windows") : NULL;
    const char *problem = maintenance_window_read(
        &peel->maintenance_window, windows ? windows : peel->conf->maintenance_windows);

    if (problem)
        log_error("maintenance_windows cannot be read, this machine is not changed until they can "
                  "be error=%s",
                  problem);
    snapshot_drop(settings);
    schedule_admin_read(peel->schedule_admin);
}

static void on_settings_changed(void *self)
{
    struct peel *peel = self;

    if (peel->is_closing)
        return;
    log_info("settings changed");
    read_overlay(peel);
    basket_refresh(peel->basket);
}

static bool has_tree_states(void *self)
{
    const struct peel *peel = self;

    return mirror_has_synced(peel->states);
}

static bool is_peel_connected(void *self)
{
    return peel_is_connected(self);
}

static void begin_own_work(struct peel *peel)
{
    peel->scheduler = scheduler_new(&(struct scheduler_options){ .loop = peel->options.loop,
                                                                 .peel_id = peel->identity.id,
                                                                 .job_queue = peel->job_queue,
                                                                 .outbox = peel->data_store.outbox,
                                                                 .settings = hold_settings,
                                                                 .self = peel });
    peel->schedule_admin =
        schedule_admin_open(&(struct schedule_admin_options){ .conf = peel->conf,
                                                              .scheduler = peel->scheduler,
                                                              .beacon_runner = peel->beacon_runner,
                                                              .settings = hold_settings,
                                                              .self = peel });
    read_overlay(peel);
    peel->startup = (struct startup){ .loop = peel->options.loop,
                                      .job_queue = peel->job_queue,
                                      .conf = peel->conf,
                                      .is_synced = has_tree_states,
                                      .is_connected = is_peel_connected,
                                      .self = peel };
    startup_begin(&peel->startup);
}

static int open_facts(struct peel *peel, struct err *err)
{
    peel->facts_publisher = facts_publisher_new(
        &(struct facts_publisher_options){ .loop = peel->options.loop,
                                           .peel_id = peel->identity.id,
                                           .facts_file = peel->conf->facts_file,
                                           .environment = peel->conf->environment,
                                           .curve_key = peel->curve_key,
                                           .changed = on_facts_replaced,
                                           .published = on_facts_published,
                                           .self = peel },
        err);
    return peel->facts_publisher ? 0 : -1;
}

static bool catch_up(void *self)
{
    struct peel *peel = self;

    return catchup_begin(&peel->catchup);
}

static void on_jobs_caught_up(void *self)
{
    const struct peel *peel = self;

    job_queue_go_on(peel->job_queue);
}

/* The sealing key, if this machine got it at its enrollment. */
static const struct nats_xkey *find_sealer(void *self)
{
    const struct peel *peel = self;
    const struct peel_account *account = uplink_account(peel->uplink);

    return account->has_curve ? &account->curve : NULL;
}

static const char *name_settings_tree(void *self)
{
    return mirror_tree(((const struct peel *)self)->settings_files);
}

static int open_peel_files(struct peel *peel, struct err *err)
{
    const char *folder = path_join(&peel->arena, peel->conf->data_dir, SETTINGS_FOLDER);

    peel->trust.mode = peel->conf->signed_trees;
    peel->trust.seen = path_join(&peel->arena, peel->conf->data_dir, SIGNED_FOLDER);
    peel->states =
        mirror_new(&(struct mirror_options){ .loop = peel->options.loop,
                                             .bucket = store_bucket_name(STORE_STATE_FILES),
                                             .folder = peel->conf->states_cache,
                                             .trust = &peel->trust,
                                             .synced = on_states_synced,
                                             .failed = on_tree_sync_failed,
                                             .ended = on_tree_fetched,
                                             .follows = follow_canary,
                                             .self = peel,
                                             .hasty = peel->options.hasty },
                   err);
    peel->settings_files =
        mirror_new(&(struct mirror_options){ .loop = peel->options.loop,
                                             .bucket = store_bucket_name(STORE_SETTINGS_FILES),
                                             .folder = folder,
                                             .trust = &peel->trust,
                                             .synced = on_settings_synced,
                                             .failed = on_tree_sync_failed,
                                             .ended = on_tree_fetched,
                                             .self = peel,
                                             .hasty = peel->options.hasty },
                   err);
    peel->peel_settings =
        peel_settings_new(&(struct peel_settings_options){ .loop = peel->options.loop,
                                                           .peel_id = peel->identity.id,
                                                           .data_dir = peel->conf->data_dir,
                                                           .folder = folder,
                                                           .key = &peel->identity.key,
                                                           .facts = hold_facts,
                                                           .tree = name_settings_tree,
                                                           .sealer = find_sealer,
                                                           .ask = ask_peel_basket,
                                                           .changed = on_settings_changed,
                                                           .ended = on_tree_fetched,
                                                           .self = peel },
                          err);
    heartbeat_show_trees(
        &peel->heartbeat,
        &(struct heartbeat_trees){ peel->states, peel->settings_files, peel->peel_settings });
    peel->catchup = (struct catchup){ .loop = peel->options.loop,
                                      .states = peel->states,
                                      .settings = peel->settings_files,
                                      .peel_settings = peel->peel_settings,
                                      .fn = on_jobs_caught_up,
                                      .self = peel };
    return peel->states && peel->settings_files && peel->peel_settings ? 0 : -1;
}

static bool look_first(void *self)
{
    const struct peel *peel = self;

    return !peel->beacon_runner || beacon_runner_look_first(peel->beacon_runner);
}

static void on_acts(void *self, const struct exec_request *request)
{
    const struct peel *peel = self;

    if (peel->beacon_runner)
        beacon_runner_acts(peel->beacon_runner, request);
}

/* For the basket. */
static int run_basket_task(void *self, const struct job_queue_task *task, struct err *err)
{
    struct peel *peel = self;

    return job_queue_run(peel->job_queue, task, err);
}

static void run_schedule_call(void *self, struct arena *arena, struct schedule_admin_call *call,
                              struct value *ret_result, const char **ret_error)
{
    struct peel *peel = self;

    schedule_admin_run(peel->schedule_admin, arena, call, ret_result, ret_error);
}

/* The account that must sign requests; NULL: any. */
static const struct nats_nkey *find_signing_account(void *self)
{
    const struct peel *peel = self;

    return peel->conf->require_signed_requests ? &uplink_account(peel->uplink)->key : NULL;
}

static bool is_from_fleet(void *self, struct str header)
{
    const struct peel *peel = self;

    return uplink_is_from_fleet(peel->uplink, header);
}

static bool is_operator_revoked(void *self, const char *key, int64_t issued)
{
    const struct peel *peel = self;

    (void)issued; /* each key has one JWT */
    return revocations_has(peel->revocations, key);
}

static void on_peel_refused(void *self)
{
    struct peel *peel = self;

    metrics_add(peel->metrics, PEEL_METRIC_REFUSED, 1, NULL, NULL);
}

static int open_job_queue(struct peel *peel, struct err *err)
{
    peel->revocations =
        revocations_new(&(struct revocations_options){ .loop = peel->options.loop,
                                                       .data_dir = peel->conf->data_dir,
                                                       .account = find_signing_account,
                                                       .self = peel });
    peel->basket = basket_new(&(struct basket_options){ .loop = peel->options.loop,
                                                        .peel_id = peel->identity.id,
                                                        .facts = hold_facts,
                                                        .settings = hold_settings,
                                                        .run = run_basket_task,
                                                        .self = peel },
                              err);
    if (!peel->basket)
        return -1;
    peel->job_queue = job_queue_new(
        &(struct job_queue_options){ .loop = peel->options.loop,
                                     .workers = peel->options.workers,
                                     .peel_id = peel->identity.id,
                                     .data_dir = peel->conf->data_dir,
                                     .facts_file = peel->conf->facts_file,
                                     .states_cache = peel->conf->states_cache,
                                     .states_baked = peel->data_store.baked,
                                     .loose_params = !peel->conf->strict_params,
                                     .child_registry = peel->data_store.child_registry,
                                     .orphans = peel->data_store.orphans,
                                     .ledger = peel->data_store.ledger,
                                     .outbox = peel->data_store.outbox,
                                     .maintenance_window = &peel->maintenance_window,
                                     .basket = peel->basket,
                                     .account = find_signing_account,
                                     .is_from_fleet = is_from_fleet,
                                     .is_revoked = is_operator_revoked,
                                     .refused = on_peel_refused,
                                     .plan_cache = peel->data_store.plan_cache,
                                     .facts = hold_facts,
                                     .settings = hold_settings,
                                     .own = run_schedule_call,
                                     .catch_up = catch_up,
                                     .look_first = look_first,
                                     .facts_changed = on_custom_facts_changed,
                                     .acts = on_acts,
                                     .ended = on_peel_job_ended,
                                     .self = peel },
        err);
    return peel->job_queue ? 0 : -1;
}

static int32_t find_job_depth(void *self)
{
    return job_queue_depth(((const struct peel *)self)->job_queue);
}

static bool is_acting(void *self)
{
    const struct peel *peel = self;

    return job_queue_is_acting(peel->job_queue);
}

static void on_facts_looked(void *self)
{
    const struct peel *peel = self;

    job_queue_looked(peel->job_queue);
}

static void on_beacon(void *self, const char *beacon, bool is_lost)
{
    struct peel *peel = self;

    metrics_add(peel->metrics, is_lost ? PEEL_METRIC_BEACONS_LOST : PEEL_METRIC_BEACONS, 1, beacon,
                NULL);
}

static int open_beacons(struct peel *peel, struct err *err)
{
    peel->beacon_runner =
        beacon_runner_new(&(struct beacon_runner_options){ .loop = peel->options.loop,
                                                           .peel_id = peel->identity.id,
                                                           .is_connected = is_peel_connected,
                                                           .is_acting = is_acting,
                                                           .looked = on_facts_looked,
                                                           .told = on_beacon,
                                                           .settings = hold_settings,
                                                           .self = peel },
                          err);
    return peel->beacon_runner ? 0 : -1;
}

static int open_event_server(struct peel *peel, struct err *err)
{
    peel->event_socket =
        event_socket_new(&(struct event_socket_options){ .loop = peel->options.loop,
                                                         .peel_id = peel->identity.id,
                                                         .data_dir = peel->conf->data_dir,
                                                         .is_connected = is_peel_connected,
                                                         .depth = find_job_depth,
                                                         .settings = hold_settings,
                                                         .self = peel },
                         err);
    return peel->event_socket ? 0 : -1;
}

static int open_health(struct peel *peel, struct err *err)
{
    if (!peel->conf->health_addr[0])
        return 0;
    peel->peel_health =
        peel_health_new(&(struct peel_health_options){ .loop = peel->options.loop,
                                                       .address = peel->conf->health_addr,
                                                       .metrics = peel->metrics,
                                                       .uplink = peel->uplink,
                                                       .heartbeat = &peel->heartbeat,
                                                       .outbox = peel->data_store.outbox,
                                                       .event_socket = peel->event_socket,
                                                       .beacon_runner = peel->beacon_runner,
                                                       .began = peel->began },
                        err);
    return peel->peel_health ? 0 : -1;
}

/* --- life ------------------------------------------------------------------------- */

static void on_bus_untrusted(void *self)
{
    const struct peel *peel = self;

    if (peel->options.untrusted)
        peel->options.untrusted(peel->options.self);
}

static void open_uplink(struct peel *peel)
{
    peel->uplink = uplink_new(&(struct uplink_options){ .loop = peel->options.loop,
                                                        .hub = peel->options.hub,
                                                        .conf = peel->conf,
                                                        .identity = &peel->identity,
                                                        .host = peel->options.host,
                                                        .metrics = peel->metrics,
                                                        .connected = on_peel_connected,
                                                        .closing = on_closing,
                                                        .untrusted = on_bus_untrusted,
                                                        .self = peel });
}

static int open_peel_parts(struct peel *peel, struct err *err)
{
    const struct peel_conf *conf = peel->conf;
    struct nats_xkey curve;

    if (peel_identity_open(&peel->arena, conf->auth_dir, conf->id, peel->options.host,
                           &peel->identity, err) < 0)
        return -1;
    nats_xkey_of(&peel->identity.key, &curve);
    nats_xkey_print(&curve, peel->curve_key);
    peel->metrics = metrics_new(peel_metrics, PEEL_METRICS);
    heartbeat_init(&peel->heartbeat, peel->options.loop, peel->identity.id, peel->conf->data_dir);
    open_uplink(peel);
    if (data_store_open(&peel->data_store, &peel->arena, conf, err) < 0 ||
        open_facts(peel, err) < 0 || open_peel_files(peel, err) < 0 ||
        open_job_queue(peel, err) < 0 || open_event_server(peel, err) < 0 ||
        open_beacons(peel, err) < 0 || open_health(peel, err) < 0)
        return -1;
    begin_own_work(peel);
    uplink_begin(peel->uplink);
    return 0;
}

struct peel *peel_new(const struct peel_options *options, struct err *err)
{
    struct peel *peel = mem_zalloc(sizeof(*peel));

    peel->options = *options;
    peel->conf = options->conf;
    data_store_init(&peel->data_store);
    peel->began = clock_now();
    if (open_peel_parts(peel, err) == 0)
        return peel;
    peel_free(peel);
    return NULL;
}

static void on_stopping(struct timer *timer)
{
    struct peel *peel = container_of(timer, struct peel, stopping);

    if (job_queue_is_idle(peel->job_queue))
        peel->options.stopped(peel->options.self);
    else
        timer_set(loop_timers(peel->options.loop), timer, clock_after(clock_now(), STOP_LOOK),
                  on_stopping);
}

bool peel_is_idle(const struct peel *peel)
{
    return job_queue_is_idle(peel->job_queue);
}

void peel_stop(struct peel *peel)
{
    if (peel->is_stopping)
        return;
    peel->is_stopping = true;
    scheduler_stop(peel->scheduler);
    beacon_runner_stop(peel->beacon_runner);
    startup_stop(&peel->startup);
    job_queue_stop(peel->job_queue);
    on_stopping(&peel->stopping);
}

/* Callers are freed before the parts they call back. */
void peel_free(struct peel *peel)
{
    if (!peel)
        return;
    peel->is_closing = true;
    peel_health_free(peel->peel_health);
    startup_stop(&peel->startup);
    event_socket_free(peel->event_socket);
    job_queue_free(peel->job_queue);
    beacon_runner_free(peel->beacon_runner);
    mirror_free(peel->states);
    canary_done(&peel->canary);
    mirror_free(peel->settings_files);
    facts_publisher_free(peel->facts_publisher);
    revocations_free(peel->revocations);
    peel_settings_free(peel->peel_settings); /* its worker may ask the basket */
    basket_free(peel->basket);
    scheduler_free(peel->scheduler);
    schedule_admin_free(peel->schedule_admin);
    maintenance_window_done(&peel->maintenance_window);
    heartbeat_done(&peel->heartbeat);
    timer_clear(loop_timers(peel->options.loop), &peel->stopping);
    timer_clear(loop_timers(peel->options.loop), &peel->trim);
    catchup_stop(&peel->catchup);
    data_store_done(&peel->data_store);
    uplink_free(peel->uplink);
    metrics_free(peel->metrics);
    nats_nkey_done(&peel->identity.key);
    arena_done(&peel->arena);
    free(peel);
}

void peel_reload(struct peel *peel, const struct peel_conf *before)
{
    const struct peel_conf *now = peel->conf;

    peel_conf_warn_fixed(before, now);
    if (!peel_conf_has_same_bus(before, now))
        uplink_restart(peel->uplink);
    uplink_look(peel->uplink);
    peel->trust.mode = now->signed_trees;
    read_overlay(peel);
}
