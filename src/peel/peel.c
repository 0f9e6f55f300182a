#include "peel/peel.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "bus/link.h"
#include "bus/store.h"
#include "http/health.h"
#include "local/perform.h"
#include "nats/conn.h"
#include "nats/error.h"
#include "nats/xkey.h"
#include "peel/dossier.h"
#include "peel/enlist.h"
#include "peel/agenda.h"
#include "peel/basket.h"
#include "peel/bootstrap.h"
#include "peel/conf.h"
#include "peel/desk.h"
#include "peel/event_door.h"
#include "peel/heart.h"
#include "peel/identity.h"
#include "peel/ledger.h"
#include "peel/lookout.h"
#include "peel/metric.h"
#include "peel/mirror.h"
#include "peel/outbox.h"
#include "peel/pillar.h"
#include "peel/snapshot.h"
#include "peel/source.h"
#include "peel/startup.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/lock.h"
#include "sys/loop.h"
#include "sys/path.h"
#include "sys/trim.h"
#include "wire/exec.h"

#define COMPONENT       "peel"
#define OUTBOX_FOLDER   "outbox"
#define BAKED_FOLDER    "states"
#define SETTINGS_FOLDER "settings"
#define LOCK_FILE       "peel.lock"
#define FOLDER_MODE     0700
/* How often it is looked whether what runs has ended. */
#define STOP_LOOK (INT64_C(20) * 1000000)
/* Without credentials it is looked for them. */
/* How often it is looked whether credentials end. */
#define RENEWAL_LOOK (INT64_C(3600) * 1000000000)
/* After the last thing that happened. */
#define TRIM_AFTER (INT64_C(3) * 1000000000)
#define CREDS_LOOK (INT64_C(1) * 1000000000)

struct peel {
    struct arena arena;
    struct peel_options options;
    const struct peel_conf *conf;
    struct peel_identity identity;
    struct lock lock;
    struct ledger *ledger;
    struct outbox *outbox;
    struct dossier *dossier;
    struct enlist *enlist;
    char curve_key[NATS_NKEY_TEXT_SIZE];
    struct desk *desk;
    struct event_door *door;
    struct lookout *lookout;
    struct mirror *states, *settings_files;
    struct pillar *pillar;
    struct basket *basket;
    struct agenda *agenda;
    struct startup startup;
    struct heart heart;
    struct metrics *metrics;
    struct health *health;
    struct link *link;
    struct nats_js js;
    struct nats_listener listener;
    struct timer retry, stopping, trim, renewal;
    char problem[NATS_ERROR_TEXT_SIZE]; /* why there is no connection */
    const char *baked;
    int64_t began;
    bool was_connected, is_stopping, is_closing;
};

const char *peel_id(const struct peel *peel)
{
    return peel->identity.id;
}

bool peel_is_connected(const struct peel *peel)
{
    return peel->js.conn && nats_conn_state(peel->js.conn) == NATS_CONN_CONNECTED;
}

/* --- what the desk asks for ------------------------------------------------------- */

static struct snapshot *hold_facts(void *self)
{
    const struct peel *peel = self;

    return dossier_hold(peel->dossier);
}

static struct snapshot *hold_settings(void *self, const char **ret_why)
{
    const struct peel *peel = self;

    *ret_why = PILLAR_UNKNOWN;
    return pillar_hold(peel->pillar);
}

/* A fact was set. */
static void on_facts_changed(void *self)
{
    const struct peel *peel = self;

    if (!peel->is_closing)
        dossier_refresh(peel->dossier);
}

/* --- returns ---------------------------------------------------------------------- */

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

/* --- connection ------------------------------------------------------------------- */

static void set_problem(struct peel *peel, const char *text)
{
    const struct str part = str_slice(str_from(text), 0, sizeof(peel->problem) - 1);

    memcpy(peel->problem, part.p, part.n);
    peel->problem[part.n] = '\0';
}

/* Starting, enrolling and jobs need more memory than waiting. */
static void on_trim(struct timer *timer)
{
    const struct peel *peel = container_of(timer, struct peel, trim);

    if (desk_is_idle(peel->desk)) {
        desk_trim(peel->desk);
        trim_memory();
    } else
        timer_set(loop_timers(peel->options.loop), timer, clock_after(clock_now(), TRIM_AFTER),
                  on_trim);
}

static void trim_later(struct peel *peel)
{
    timer_set(loop_timers(peel->options.loop), &peel->trim, clock_after(clock_now(), TRIM_AFTER),
              on_trim);
}

static void on_ended(void *self, const struct exec_request *request, bool success, int64_t duration)
{
    struct peel *peel = self;
    const char *result = success ? "success" : "failed";

    metrics_add(peel->metrics, PEEL_METRIC_REQUESTS, 1, request->module, result);
    if (perform_class(request->module) != PERFORM_QUICK)
        trim_later(peel);
    if (perform_class(request->module) != PERFORM_READ && peel->lookout)
        lookout_acted(peel->lookout);
    if (perform_class(request->module) != PERFORM_STATES)
        return;
    metrics_add(peel->metrics, PEEL_METRIC_APPLY, 1, request->id, result);
    metrics_observe(peel->metrics, PEEL_METRIC_APPLY_SECONDS, (double)duration / CLOCK_SECOND,
                    request->id, result);
}

static void on_connected(struct peel *peel)
{
    struct err err;

    log_info("connected server=%s", nats_conn_server(peel->js.conn));
    if (peel->was_connected)
        metrics_add(peel->metrics, PEEL_METRIC_RECONNECTS, 1, NULL, NULL);
    else if (desk_connect(peel->desk, peel->js.conn, &err) < 0)
        log_error("cannot listen for requests error=%s", err.text);
    if (!peel->was_connected) {
        outbox_connect(peel->outbox, &peel->js);
        event_door_connect(peel->door, &peel->js);
        lookout_connect(peel->lookout, &peel->js);
    }
    peel->was_connected = true;
    lookout_resume(peel->lookout);
    dossier_connect(peel->dossier, &peel->js);
    heart_connect(&peel->heart, &peel->js);
    mirror_connect(peel->states, &peel->js);
    mirror_connect(peel->settings_files, &peel->js);
    pillar_connect(peel->pillar, &peel->js);
    basket_connect(peel->basket, &peel->js);
    trim_later(peel);
}

static void on_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct peel *peel = container_of(listener, struct peel, listener);
    const char *text = event->error ? event->error->text : "";

    switch (event->kind) {
    case NATS_EVENT_CONNECTED: on_connected(peel); break;
    case NATS_EVENT_DISCONNECTED:
        metrics_add(peel->metrics, PEEL_METRIC_DISCONNECTS, 1, NULL, NULL);
        if (event->error->fault == NATS_FAULT_SLOW)
            metrics_add(peel->metrics, PEEL_METRIC_SLOW_CONSUMERS, 1, NULL, NULL);
        log_warning("disconnected error=%s", text);
        set_problem(peel, text);
        break;
    case NATS_EVENT_RETRY:
        if (strcmp(peel->problem, text) != 0)
            log_warning("cannot connect, trying again error=%s", text);
        set_problem(peel, text);
        break;
    case NATS_EVENT_ERROR:
    case NATS_EVENT_DENIED: log_warning("refused by the bus error=%s", text); break;
    default: break;
    }
}

static void disconnect(struct peel *peel)
{
    mirror_connect(peel->states, NULL);
    mirror_connect(peel->settings_files, NULL);
    pillar_connect(peel->pillar, NULL);
    basket_connect(peel->basket, NULL);
    dossier_connect(peel->dossier, NULL);
    heart_connect(&peel->heart, NULL);
    outbox_connect(peel->outbox, NULL);
    event_door_connect(peel->door, NULL);
    lookout_connect(peel->lookout, NULL);
    (void)desk_connect(peel->desk, NULL, NULL);
    link_free(peel->link);
    peel->link = NULL;
    peel->js = (struct nats_js){ 0 };
    peel->was_connected = false;
}

static int open_link(struct peel *peel, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct peel_conf *conf = peel->conf;
    const char *cached = bootstrap_cached_servers(&arena, conf);
    const char *urls = conf->nats_url && conf->nats_url[0] ? conf->nats_url
                       : cached                            ? cached
                                                           : LINK_URL_DEFAULT;
    const struct link_options options = {
        .urls = urls,
        .ca_file = conf->nats_ca,
        .auth_dir = conf->auth_dir,
        .creds_file = peel->identity.creds_file,
        .name = arena_printf(&arena, "zester-peel-%s", peel->identity.id),
    };

    peel->link = link_new(peel->options.hub, &options, err);
    if (!peel->link)
        return -1;
    if (strcmp(link_user(peel->link), peel->identity.id) != 0) {
        (void)err_set(err, ERR_INVALID, "the credentials are those of '%s', this is '%s'",
                      link_user(peel->link), peel->identity.id);
        disconnect(peel);
        return -1;
    }
    peel->js.conn = link_conn(peel->link);
    nats_listen(peel->js.conn, &peel->listener, on_event);
    return 0;
}

static void try_link(struct peel *peel);

static void on_enlisted(void *self, const char *problem)
{
    struct peel *peel = self;

    if (problem) {
        log_error("not enrolled: %s; a restart asks again", problem);
        set_problem(peel, problem);
        return;
    }
    log_info("enrolled");
    try_link(peel);
}

static bool has_creds(const struct peel *peel)
{
    struct fs_info info;
    struct err err;

    return fs_stat(peel->identity.creds_file, &info, &err) < 0 || info.kind != FS_NONE;
}

static void begin_enrollment(struct peel *peel, bool renew)
{
    struct err err;

    if (peel->enlist && enlist_is_done(peel->enlist) && renew) {
        enlist_free(peel->enlist);
        peel->enlist = NULL;
    }
    if (peel->enlist)
        return;
    if (!renew)
        set_problem(peel, "not enrolled yet");
    peel->enlist = enlist_begin(&(struct enlist_options){ .loop = peel->options.loop,
                                                          .conf = peel->conf,
                                                          .identity = &peel->identity,
                                                          .hostname = peel->options.host,
                                                          .renew = renew,
                                                          .done = on_enlisted,
                                                          .self = peel },
                                &err);
    if (!peel->enlist)
        log_error("cannot enroll error=%s", err.text);
}

/* New credentials are in use from the next connection on, at the end of the old ones. */
static void on_renewal(struct timer *timer)
{
    struct peel *peel = container_of(timer, struct peel, renewal);

    timer_set(loop_timers(peel->options.loop), timer, clock_after(clock_now(), RENEWAL_LOOK),
              on_renewal);
    if (!peel_identity_must_renew(&peel->identity, clock_wall() / CLOCK_SECOND))
        return;
    log_info("credentials end soon, renewing them");
    begin_enrollment(peel, true);
}

static void on_retry(struct timer *timer)
{
    try_link(container_of(timer, struct peel, retry));
}

/* Without credentials it enrolls; with some that cannot be used it waits for others. */
static void try_link(struct peel *peel)
{
    struct err err;

    if (peel->link)
        return;
    if (!has_creds(peel)) {
        begin_enrollment(peel, false);
    } else if (open_link(peel, &err) == 0) {
        return;
    } else {
        if (strcmp(peel->problem, err.text) != 0)
            log_warning("no connection yet error=%s", err.text);
        set_problem(peel, err.text);
    }
    timer_set(loop_timers(peel->options.loop), &peel->retry, clock_after(clock_now(), CREDS_LOOK),
              on_retry);
}

/* --- health ----------------------------------------------------------------------- */

static void report_checks(void *self, struct health_report *report)
{
    const struct peel *peel = self;
    const bool connected = peel_is_connected(peel);

    health_report_add(report, "nats", connected ? HEALTH_OK : HEALTH_DOWN,
                      connected ? NULL : peel->problem);
    health_report_add(report, "kv",
                      !connected                     ? HEALTH_DOWN
                      : heart_is_heard(&peel->heart) ? HEALTH_OK
                                                     : HEALTH_DEGRADED,
                      heart_is_heard(&peel->heart) ? NULL : "no heartbeat was stored lately");
}

static void measure(void *self, struct metrics *metrics)
{
    const struct peel *peel = self;

    metrics_set(metrics, PEEL_METRIC_CONNECTED, peel_is_connected(peel), NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_UPTIME, (double)(clock_now() - peel->began) / CLOCK_SECOND,
                NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_OUTBOX, (double)outbox_count(peel->outbox), NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_EVENTS, (double)event_door_waiting(peel->door), NULL, NULL);
    metrics_set(metrics, PEEL_METRIC_BEACONS_WAITING, (double)lookout_waiting(peel->lookout), NULL,
                NULL);
}

static void on_facts_published(void *self)
{
    struct peel *peel = self;

    metrics_add(peel->metrics, PEEL_METRIC_FACTS_SYNC, 1, NULL, NULL);
}

/* --- life ------------------------------------------------------------------------- */

static int open_ledger(struct peel *peel, struct err *err)
{
    bool damaged;

    peel->ledger =
        ledger_open(path_join(&peel->arena, peel->conf->data_dir, LEDGER_FILE), &damaged, err);
    if (!peel->ledger)
        return -1;
    if (damaged)
        log_warning("records of accepted jobs were damaged and are lost file=%s/" LEDGER_FILE,
                    peel->conf->data_dir);
    return 0;
}

static int open_outbox(struct peel *peel, struct err *err)
{
    const struct outbox_listener listener = { on_stored, on_dropped, peel };
    size_t damaged;

    peel->outbox = outbox_open(path_join(&peel->arena, peel->conf->data_dir, OUTBOX_FOLDER),
                               &listener, &damaged, err);
    if (!peel->outbox)
        return -1;
    if (damaged > 0)
        log_warning("returns were damaged and put aside count=%zu", damaged);
    return 0;
}

/* --- files and settings ----------------------------------------------------------- */

static void on_states_synced(void *self, bool changed)
{
    (void)self;
    (void)changed;
}

static void on_settings_synced(void *self, bool changed)
{
    struct peel *peel = self;

    (void)changed; /* the first time they are resolved in any case */
    if (!peel->is_closing)
        pillar_refresh(peel->pillar);
}

/* Templates of settings see facts. */
static void on_facts_replaced(void *self)
{
    struct peel *peel = self;

    if (!peel->is_closing && peel->pillar && mirror_has_synced(peel->settings_files))
        pillar_refresh(peel->pillar);
    basket_refresh(peel->is_closing ? NULL : peel->basket);
}

/* What must be done when, and what must be watched, by configuration and settings. */
static void read_duties(struct peel *peel)
{
    struct snapshot *settings = pillar_hold(peel->pillar);
    const struct value *map = settings ? &settings->value : NULL;

    agenda_read(peel->agenda, peel->conf->schedule, map ? value_get(map, "schedule") : NULL);
    lookout_read(peel->lookout, peel->conf->beacons, map ? value_get(map, "beacons") : NULL);
    snapshot_drop(settings);
}

static void on_settings_changed(void *self)
{
    struct peel *peel = self;

    if (peel->is_closing)
        return;
    log_info("settings changed");
    read_duties(peel);
    basket_refresh(peel->basket);
}

static bool has_states(void *self)
{
    const struct peel *peel = self;

    return mirror_has_synced(peel->states);
}

static bool has_bus(void *self)
{
    return peel_is_connected(self);
}

static void begin_own_work(struct peel *peel)
{
    peel->agenda = agenda_new(&(struct agenda_options){ .loop = peel->options.loop,
                                                        .peel_id = peel->identity.id,
                                                        .desk = peel->desk,
                                                        .outbox = peel->outbox });
    read_duties(peel);
    peel->startup = (struct startup){ .loop = peel->options.loop,
                                      .desk = peel->desk,
                                      .conf = peel->conf,
                                      .is_synced = has_states,
                                      .is_connected = has_bus,
                                      .self = peel };
    startup_begin(&peel->startup);
}

static int open_dossier(struct peel *peel, struct err *err)
{
    peel->dossier = dossier_new(&(struct dossier_options){ .loop = peel->options.loop,
                                                           .peel_id = peel->identity.id,
                                                           .facts_file = peel->conf->facts_file,
                                                           .curve_key = peel->curve_key,
                                                           .changed = on_facts_replaced,
                                                           .published = on_facts_published,
                                                           .self = peel },
                                err);
    return peel->dossier ? 0 : -1;
}

static int open_files(struct peel *peel, struct err *err)
{
    const char *folder = path_join(&peel->arena, peel->conf->data_dir, SETTINGS_FOLDER);

    peel->states =
        mirror_new(&(struct mirror_options){ .loop = peel->options.loop,
                                             .bucket = store_bucket_name(STORE_STATE_FILES),
                                             .folder = peel->conf->states_cache,
                                             .synced = on_states_synced,
                                             .self = peel,
                                             .hasty = peel->options.hasty },
                   err);
    peel->settings_files =
        mirror_new(&(struct mirror_options){ .loop = peel->options.loop,
                                             .bucket = store_bucket_name(STORE_SETTINGS_FILES),
                                             .folder = folder,
                                             .synced = on_settings_synced,
                                             .self = peel,
                                             .hasty = peel->options.hasty },
                   err);
    peel->pillar = pillar_new(&(struct pillar_options){ .loop = peel->options.loop,
                                                        .peel_id = peel->identity.id,
                                                        .data_dir = peel->conf->data_dir,
                                                        .folder = folder,
                                                        .key = &peel->identity.key,
                                                        .facts = hold_facts,
                                                        .changed = on_settings_changed,
                                                        .self = peel },
                              err);
    return peel->states && peel->settings_files && peel->pillar ? 0 : -1;
}

static void on_acts(void *self, const struct exec_request *request)
{
    const struct peel *peel = self;

    if (peel->lookout)
        lookout_acts(peel->lookout, request);
}

static int open_desk(struct peel *peel, struct err *err)
{
    peel->basket = basket_new(&(struct basket_options){ .loop = peel->options.loop,
                                                        .peel_id = peel->identity.id,
                                                        .facts = hold_facts,
                                                        .settings = hold_settings,
                                                        .self = peel },
                              err);
    if (!peel->basket)
        return -1;
    peel->desk = desk_new(&(struct desk_options){ .loop = peel->options.loop,
                                                  .peel_id = peel->identity.id,
                                                  .data_dir = peel->conf->data_dir,
                                                  .facts_file = peel->conf->facts_file,
                                                  .states_cache = peel->conf->states_cache,
                                                  .states_baked = peel->baked,
                                                  .loose_params = !peel->conf->strict_params,
                                                  .ledger = peel->ledger,
                                                  .outbox = peel->outbox,
                                                  .basket = peel->basket,
                                                  .facts = hold_facts,
                                                  .settings = hold_settings,
                                                  .facts_changed = on_facts_changed,
                                                  .acts = on_acts,
                                                  .ended = on_ended,
                                                  .self = peel },
                          err);
    return peel->desk ? 0 : -1;
}

static int32_t find_depth(void *self)
{
    const struct peel *peel = self;

    return desk_depth(peel->desk);
}

static bool is_acting(void *self)
{
    const struct peel *peel = self;

    return desk_is_acting(peel->desk);
}

static void on_beacon(void *self, const char *beacon, bool is_lost)
{
    struct peel *peel = self;

    metrics_add(peel->metrics, PEEL_METRIC_BEACONS, 1, beacon, is_lost ? "lost" : "stored");
}

static int open_lookout(struct peel *peel, struct err *err)
{
    peel->lookout = lookout_new(&(struct lookout_options){ .loop = peel->options.loop,
                                                           .peel_id = peel->identity.id,
                                                           .is_connected = has_bus,
                                                           .is_acting = is_acting,
                                                           .told = on_beacon,
                                                           .self = peel },
                                err);
    return peel->lookout ? 0 : -1;
}

static int open_door(struct peel *peel, struct err *err)
{
    peel->door = event_door_new(&(struct event_door_options){ .loop = peel->options.loop,
                                                              .peel_id = peel->identity.id,
                                                              .data_dir = peel->conf->data_dir,
                                                              .is_connected = has_bus,
                                                              .depth = find_depth,
                                                              .self = peel },
                                err);
    return peel->door ? 0 : -1;
}

static int open_health(struct peel *peel, struct err *err)
{
    if (!peel->conf->health_addr[0])
        return 0;
    peel->health = health_new(&(struct health_options){ .loop = peel->options.loop,
                                                        .address = peel->conf->health_addr,
                                                        .component = COMPONENT,
                                                        .version = ZESTER_VERSION,
                                                        .checks = report_checks,
                                                        .measure = measure,
                                                        .metrics = peel->metrics,
                                                        .self = peel },
                              err);
    return peel->health ? 0 : -1;
}

/* One agent for each data folder: two would run every job twice. */
static int open_folders(struct peel *peel, struct err *err)
{
    const char *data = peel->conf->data_dir;
    const struct source_folders folders = { peel->conf->states_cache,
                                            path_join(&peel->arena, data, BAKED_FOLDER) };

    peel->baked = folders.baked;
    if (fs_mkdirs(data, FOLDER_MODE, err) < 0 ||
        lock_take(&peel->lock, path_join(&peel->arena, data, LOCK_FILE), LOCK_EXCLUSIVE, LOCK_TRY,
                  NULL, err) < 0)
        return err_wrap(err, "data folder '%s'", data);
    if (!source_is_there(&folders))
        log_warning("states engine unavailable at boot; will build when state files appear");
    return 0;
}

static int open_all(struct peel *peel, struct err *err)
{
    const struct peel_conf *conf = peel->conf;
    struct nats_xkey curve;

    if (peel_identity_open(&peel->arena, conf->auth_dir, conf->id, peel->options.host,
                           &peel->identity, err) < 0)
        return -1;
    nats_xkey_of(&peel->identity.key, &curve);
    nats_xkey_print(&curve, peel->curve_key);
    peel->metrics = metrics_new(peel_metrics, PEEL_METRICS);
    heart_init(&peel->heart, peel->options.loop, peel->identity.id);
    set_problem(peel, "not connected yet");
    if (open_folders(peel, err) < 0 || open_ledger(peel, err) < 0 || open_outbox(peel, err) < 0 ||
        open_dossier(peel, err) < 0 || open_files(peel, err) < 0 || open_desk(peel, err) < 0 ||
        open_door(peel, err) < 0 || open_lookout(peel, err) < 0 || open_health(peel, err) < 0)
        return -1;
    begin_own_work(peel);
    try_link(peel);
    timer_set(loop_timers(peel->options.loop), &peel->renewal, clock_now(), on_renewal);
    return 0;
}

struct peel *peel_new(const struct peel_options *options, struct err *err)
{
    struct peel *peel = mem_zalloc(sizeof(*peel));

    peel->options = *options;
    peel->conf = options->conf;
    peel->lock = (struct lock)LOCK_NONE;
    peel->began = clock_now();
    if (open_all(peel, err) == 0)
        return peel;
    peel_free(peel);
    return NULL;
}

static void on_stopping(struct timer *timer)
{
    struct peel *peel = container_of(timer, struct peel, stopping);

    if (desk_is_idle(peel->desk))
        peel->options.stopped(peel->options.self);
    else
        timer_set(loop_timers(peel->options.loop), timer, clock_after(clock_now(), STOP_LOOK),
                  on_stopping);
}

void peel_stop(struct peel *peel)
{
    if (peel->is_stopping)
        return;
    peel->is_stopping = true;
    agenda_stop(peel->agenda);
    lookout_stop(peel->lookout);
    startup_stop(&peel->startup);
    desk_stop(peel->desk);
    on_stopping(&peel->stopping);
}

static void clear_timers(struct peel *peel)
{
    struct timer *const timers[] = { &peel->retry, &peel->stopping, &peel->trim, &peel->renewal };

    for (size_t i = 0; i < ARRAY_LEN(timers); i++)
        timer_clear(loop_timers(peel->options.loop), timers[i]);
}

/* What calls back goes before what it calls, and says nothing any more. */
void peel_free(struct peel *peel)
{
    if (!peel)
        return;
    peel->is_closing = true;
    enlist_free(peel->enlist);
    health_free(peel->health);
    startup_stop(&peel->startup);
    event_door_free(peel->door);
    desk_free(peel->desk);
    lookout_free(peel->lookout);
    basket_free(peel->basket);
    mirror_free(peel->states);
    mirror_free(peel->settings_files);
    dossier_free(peel->dossier);
    pillar_free(peel->pillar);
    agenda_free(peel->agenda);
    heart_done(&peel->heart);
    clear_timers(peel);
    outbox_free(peel->outbox);
    link_free(peel->link);
    ledger_free(peel->ledger);
    metrics_free(peel->metrics);
    lock_drop(&peel->lock);
    nats_nkey_done(&peel->identity.key);
    arena_done(&peel->arena);
    free(peel);
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

void peel_reload(struct peel *peel, const struct peel_conf *before)
{
    const struct peel_conf *now = peel->conf;
    const struct {
        const char *key, *before, *now;
    } fixed[] = {
        { "id", before->id, now->id },
        { "auth_dir", before->auth_dir, now->auth_dir },
        { "data_dir", before->data_dir, now->data_dir },
        { "states_cache", before->states_cache, now->states_cache },
        { "facts_file", before->facts_file, now->facts_file },
        { "health_addr", before->health_addr, now->health_addr },
    };

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        if (!is_same(fixed[i].before, fixed[i].now))
            log_warning("configuration key takes effect after a restart key=%s", fixed[i].key);
    if (!is_same(before->nats_url, now->nats_url) || !is_same(before->nats_ca, now->nats_ca)) {
        disconnect(peel);
        try_link(peel);
    }
    read_duties(peel);
}
