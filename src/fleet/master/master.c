#include "fleet/master/master.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/identity.h"
#include "fleet/bus/link.h"
#include "fleet/bus/store.h"
#include "fleet/nats/hub.h"
#include "fleet/nats/nkey.h"
#include "fleet/nats/publisher.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/loop.h"
#include "core/sys/path.h"

#define COMPONENT "master"

static void set_master_problem(struct master *master, const char *text)
{
    (void)snprintf(master->problem, sizeof(master->problem), "%s", text);
}

/* --- services ----------------------------------------------------------------------- */

static int open_services(struct master *master, const struct master_service *const *services,
                         struct err *err)
{
    for (; *services; services++) {
        struct master_running *running = &master->services[master->service_count];

        assert(master->service_count < MASTER_SERVICES_MAX);
        running->service = *services;
        running->self = (*services)->open(master, err);
        if (!running->self)
            return err_wrap(err, "%s", (*services)->name);
        master->service_count++;
    }
    return 0;
}

static void on_master_retry(struct timer *timer);

static void retry_master_start(struct master *master)
{
    timer_set(loop_timers(master->loop), &master->retry, clock_after(clock_now(), MASTER_RETRY_NS),
              on_master_retry);
}

/* In order: a service that cannot start delays the later ones, which may need it. */
static void start_master_services(struct master *master)
{
    for (size_t i = 0; i < master->service_count; i++) {
        struct master_running *running = &master->services[i];
        struct err err;

        if (running->is_started)
            continue;
        if (running->service->start(running->self, &err) < 0) {
            log_warning("service cannot start, trying again service=%s error=%s",
                        running->service->name, err.text);
            (void)snprintf(running->problem, sizeof(running->problem), "%s", err.text);
            retry_master_start(master);
            return;
        }
        running->is_started = true;
        log_info("service started service=%s", running->service->name);
    }
}

static void stop_master_services(struct master *master)
{
    for (size_t i = master->service_count; i-- > 0;) {
        struct master_running *running = &master->services[i];

        if (running->is_started && running->service->stop)
            running->service->stop(running->self);
        running->is_started = false;
    }
}

static void free_services(struct master *master)
{
    while (master->service_count > 0) {
        const struct master_running *running = &master->services[--master->service_count];

        if (running->service->free)
            running->service->free(running->self);
    }
}

void *master_find(const struct master *master, const struct master_service *service)
{
    for (size_t i = 0; i < master->service_count; i++)
        if (master->services[i].service == service)
            return master->services[i].self;
    assert(false); /* services come before their users in the table */
    return NULL;
}

/* --- health ------------------------------------------------------------------------- */

static void check_master_service(const struct master_running *running, struct health_report *report)
{
    char message[HEALTH_TEXT_MAX] = "";
    enum health_status status = HEALTH_OK;

    if (!running->is_started) {
        health_report_add(report, running->service->name, HEALTH_DOWN,
                          running->problem[0] ? running->problem : "not started");
        return;
    }
    if (running->service->check)
        status = running->service->check(running->self, message);
    health_report_add(report, running->service->name, status, message);
}

static bool is_master_connected(const struct master *master)
{
    return master->link && nats_conn_state(link_conn(master->link)) == NATS_CONN_CONNECTED;
}

static void report_master_checks(void *self, struct health_report *report)
{
    const struct master *master = self;
    bool connected = is_master_connected(master);

    health_report_add(report, "nats", connected ? HEALTH_OK : HEALTH_DOWN,
                      connected ? NULL : master->problem);
    health_report_add(report, "store",
                      master->is_ready && !master->refusal[0] ? HEALTH_OK : HEALTH_DOWN,
                      master->refusal[0] ? master->refusal
                      : master->is_ready ? NULL
                                         : master->problem);
    for (size_t i = 0; i < master->service_count; i++)
        check_master_service(&master->services[i], report);
}

static void measure_master(void *self, struct metrics *metrics)
{
    metrics_set(metrics, MASTER_CONNECTED, is_master_connected(self) ? 1 : 0, NULL, NULL);
}

/* --- the bus ------------------------------------------------------------------------ */

static void on_store_ensured(void *self, const struct store_result *result)
{
    struct master *master = self;

    master->is_ensuring = false;
    if (master->is_stopping)
        return;
    for (size_t i = 0; i < result->problem_count; i++)
        log_warning("bus is not prepared problem=%s", result->problems[i]);
    if (result->problem_count > 0) {
        set_master_problem(master, result->problems[0]);
        retry_master_start(master);
        return;
    }
    master->is_prepared = true;
    bus_probe_start(&master->probe);
}

static void stop_master(struct master *master);

/* The streams were recreated: restart from nothing. */
static void restart_services(struct master *master)
{
    log_error("the bus has lost its data: restarting, to recreate and publish it");
    (void)snprintf(master->refusal, sizeof(master->refusal),
                   "the bus has lost its data; this master restarts");
    master->is_starting_again = true;
    stop_master(master);
}

/* The bus is writable: its clock is valid from now on. */
static void note_bus_writable(struct master *master)
{
    if (master->refusal[0])
        log_info("bus stores again");
    master->refusal[0] = '\0';
    if (!master->is_prepared)
        return;
    if (!master->is_ready)
        log_info("bus is prepared server=%s", nats_conn_server(link_conn(master->link)));
    master->is_ready = true;
    start_master_services(master);
}

static void on_bus_probed(struct bus_probe *probe, const char *problem, bool is_lost)
{
    struct master *master = container_of(probe, struct master, probe);

    if (master->is_stopping || !is_master_connected(master))
        return;
    if (is_lost) {
        restart_services(master);
    } else if (!problem) {
        note_bus_writable(master);
    } else {
        if (!master->refusal[0])
            log_warning("bus does not store error=%s", problem);
        (void)snprintf(master->refusal, sizeof(master->refusal), "the bus does not store: %s",
                       problem);
    }
}

/* At every connection: a server may have lost its memory storage. */
static void ensure_store(struct master *master)
{
    struct err err;

    if (master->is_ensuring || master->is_stopping)
        return;
    master->is_ensuring = true;
    if (store_ensure(&master->js,
                     &(struct store_options){ .replicas = master->conf.jetstream_replicas,
                                              .max_bytes = master->conf.jetstream_max_bytes },
                     on_store_ensured, master, &err) < 0) {
        master->is_ensuring = false;
        log_error("bus cannot be prepared error=%s", err.text);
        set_master_problem(master, err.text);
        retry_master_start(master);
    }
}

static void on_master_retry(struct timer *timer)
{
    struct master *master = container_of(timer, struct master, retry);

    if (is_master_connected(master))
        ensure_store(master);
}

static void on_master_connected(struct master *master)
{
    log_info("bus connected server=%s", nats_conn_server(link_conn(master->link)));
    if (master->was_connected)
        metrics_add(master->metrics, MASTER_RECONNECTS, 1, NULL, NULL);
    master->was_connected = true;
    ensure_store(master);
}

static void on_master_bus_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct master *master = container_of(listener, struct master, listener);
    const char *why = event->error ? event->error->text : "";

    switch (event->kind) {
    case NATS_EVENT_CONNECTED: on_master_connected(master); break;
    case NATS_EVENT_DISCONNECTED:
        metrics_add(master->metrics, MASTER_DISCONNECTS, 1, NULL, NULL);
        if (event->error && event->error->fault == NATS_FAULT_SLOW)
            metrics_add(master->metrics, MASTER_SLOW_CONSUMERS, 1, NULL, NULL);
        set_master_problem(master, why);
        log_warning("bus disconnected, reconnecting error=%s", why);
        break;
    case NATS_EVENT_RETRY:
        set_master_problem(master, why);
        log_debug("bus cannot be reached, trying again error=%s", why);
        break;
    case NATS_EVENT_ERROR:
    case NATS_EVENT_DENIED:
        log_warning("bus refused subject=%.*s error=%s", STR_ARG(event->subject), why);
        break;
    case NATS_EVENT_LAME_DUCK: log_info("bus server is about to shut down"); break;
    case NATS_EVENT_CLOSED:
    case NATS_EVENT_WRITABLE: break;
    }
}

/* Masters derive the same ids, which no peel can guess. */
static int derive_id_secret(struct master *master, struct err *err)
{
    struct nats_nkey account;

    if (identity_read_key(master->conf.auth_dir, IDENTITY_ACCOUNT_SEED, &account, err) < 0)
        return -1;
    nats_nkey_derive(&account, NATS_JS_ID_PURPOSE, master->id_secret);
    nats_nkey_done(&account);
    return 0;
}

static int connect_bus(struct master *master, struct err *err)
{
    const struct master_conf *conf = &master->conf;
    const char *creds =
        path_join(&master->line_arena, conf->auth_dir, identity_file_name(IDENTITY_MASTER_CREDS));

    master->link = link_new(master->hub,
                            &(struct link_options){ .urls = conf->nats_url,
                                                    .ca_file = conf->nats_ca,
                                                    .auth_dir = conf->auth_dir,
                                                    .creds_file = creds,
                                                    .name = master_daemon_conf.program },
                            err);
    if (!master->link)
        return err->code == ERR_NOT_FOUND
                   ? err_set(err, ERR_NOT_FOUND,
                             "credentials file '%s' does not exist: run 'zester-master setup'",
                             creds)
                   : -1;
    if (link_has_shared_creds(master->link))
        log_warning(LINK_SHARED_CREDS " file=%s", creds);
    if (derive_id_secret(master, err) < 0)
        return -1;
    master->js = (struct nats_js){ .conn = link_conn(master->link),
                                   .id_secret = { (const char *)master->id_secret,
                                                  sizeof(master->id_secret) } };
    master->probe =
        (struct bus_probe){ .js = master->js, .name = master->id, .result = on_bus_probed };
    nats_listen(master->js.conn, &master->listener, on_master_bus_event);
    set_master_problem(master, "not connected yet");
    return 0;
}

/* --- configuration ------------------------------------------------------------------ */

static void log_conf_diags(const struct diags *diags, const char *words)
{
    for (size_t i = 0; i < diags->list.n; i++) {
        AUTO_BUF struct buf text = BUF_INIT(LOG_TEXT_MAX);

        place_print(diags->list.p[i].at, &text);
        log_warning("%s at=%s problem=%s", words, buf_text(&text), diags->list.p[i].text);
    }
}

static void use_conf(struct master *master, const struct master_conf *conf, struct arena arena)
{
    const char *key = master_conf_restart_key(&master->conf, conf);
    struct arena old = master->conf_arena;

    if (key)
        log_warning("configuration key takes effect after a restart key=%s", key);
    master->conf = *conf;
    master->conf_arena = arena;
    daemon_log_set(conf->log_format, conf->log_level);
    for (size_t i = 0; i < master->service_count; i++)
        if (master->services[i].service->reload)
            master->services[i].service->reload(master->services[i].self);
    arena_done(&old);
    log_info("configuration read again");
}

static void reload_master(struct master *master)
{
    struct arena arena = ARENA_INIT;
    struct master_conf conf = { 0 };
    struct diags diags = DIAGS_INIT(&arena), warnings = DIAGS_INIT(&arena);
    int result =
        daemon_conf_read(&master_daemon_conf, &master->line, &arena, &conf, &diags, &warnings);

    log_conf_diags(&warnings, "configuration key ignored");
    if (result < 0) {
        log_conf_diags(&diags, "configuration cannot be read");
        log_error("configuration has errors, keeping the old one file=%s",
                  daemon_conf_file(&master_daemon_conf, &master->line));
        arena_done(&arena);
        return;
    }
    use_conf(master, &conf, arena);
}

/* --- stopping ----------------------------------------------------------------------- */

static void on_stop_deadline(struct timer *timer)
{
    struct master *master = container_of(timer, struct master, deadline);

    log_warning("stopping takes too long, ending now");
    loop_stop(master->loop);
}

static void on_master_flushed(void *self, const struct nats_error *error)
{
    struct master *master = self;

    (void)error; /* a broken connection has nothing left to send */
    loop_stop(master->loop);
}

static void flush_master(struct master *master)
{
    struct err err;

    if (!is_master_connected(master) ||
        nats_flush(master->js.conn, on_master_flushed, master, &err) < 0)
        loop_stop(master->loop);
}

static void stop_master(struct master *master)
{
    master->is_stopping = true;
    timer_clear(loop_timers(master->loop), &master->retry);
    bus_probe_stop(&master->probe);
    timer_set(loop_timers(master->loop), &master->deadline,
              clock_after(clock_now(), MASTER_STOP_NS), on_stop_deadline);
    master_hold(master); /* until all services have begun to stop */
    stop_master_services(master);
    master_release(master);
}

void master_hold(struct master *master)
{
    master->holds++;
}

void master_release(struct master *master)
{
    assert(master->holds > 0);
    if (--master->holds == 0 && master->is_stopping)
        flush_master(master);
}

static void on_master_signal(void *self, int signo)
{
    struct master *master = self;

    if (signo == SIGHUP) {
        reload_master(master);
    } else if (master->is_stopping) {
        loop_stop(master->loop);
    } else {
        log_info("stopping signal=%d", signo);
        stop_master(master);
    }
}

/* --- life --------------------------------------------------------------------------- */

bool master_init(struct master *master, int argc, char *const *argv, int *ret_status)
{
    char ksuid[KSUID_SIZE];

    *master = (struct master){ .line_arena = ARENA_INIT,
                               .conf_arena = ARENA_INIT,
                               .workroom = WORKROOM_INIT };
    if (!daemon_conf_start(&master_daemon_conf, &master->line_arena, argc, argv, &master->line,
                           &master->conf, ret_status))
        return false;
    ksuid_new(bus_time_seconds(), ksuid);
    (void)snprintf(master->id, sizeof(master->id), MASTER_ID_PREFIX "%s", ksuid);
    daemon_log_start(COMPONENT, master->id);
    daemon_log_set(master->conf.log_format, master->conf.log_level);
    return true;
}

static int listen_for_master_signals(struct master *master, struct err *err)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
    const struct sigaction ignore = { .sa_handler = SIG_IGN };

    (void)sigaction(SIGPIPE, &ignore, NULL);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        if (loop_on_signal(master->loop, signals[i], on_master_signal, master, err) < 0)
            return -1;
    return 0;
}

static void on_health_refused(void *self, const char *why)
{
    (void)self;
    log_warning("health is not served, trying again; health_addr sets another address error=%s",
                why);
}

static int open_master_services(struct master *master, const struct master_service *const *services,
                                struct err *err)
{
    master->loop = loop_new(err);
    if (!master->loop || listen_for_master_signals(master, err) < 0)
        return -1;
    notify_init(&master->notify, master->loop);
    master->metrics = metrics_new(master_metrics, MASTER_METRICS);
    master->health = health_new(&(struct health_options){ .loop = master->loop,
                                                          .address = master->conf.health_addr,
                                                          .component = COMPONENT,
                                                          .version = ZESTER_VERSION,
                                                          .checks = report_master_checks,
                                                          .measure = measure_master,
                                                          .refused = on_health_refused,
                                                          .metrics = master->metrics,
                                                          .self = master },
                                err);
    if (!master->health)
        return -1;
    master->hub = nats_hub_new(master->loop);
    return connect_bus(master, err) < 0 ? -1 : open_services(master, services, err);
}

int master_run(struct master *master, const struct master_service *const *services)
{
    struct err err;

    fd_limit_raise();
    if (open_master_services(master, services, &err) < 0) {
        log_error("master cannot start error=%s", err.text);
        return EXIT_FAILURE;
    }
    log_info("master started id=%s health=%s port=%u", master->id, master->conf.health_addr,
             health_port(master->health));
    notify_ready(&master->notify);
    loop_run(master->loop);
    log_info("master ended");
    return EXIT_SUCCESS;
}

bool master_starts_again(const struct master *master)
{
    return master->is_starting_again;
}

void master_done(struct master *master)
{
    master->is_stopping = true;
    notify_done(&master->notify);
    health_free(master->health);
    nats_publisher_free(master->events);
    link_free(master->link);
    free_services(master);
    workroom_done(&master->workroom);
    nats_hub_free(master->hub);
    metrics_free(master->metrics);
    loop_free(master->loop);
    arena_done(&master->conf_arena);
    arena_done(&master->line_arena);
}
