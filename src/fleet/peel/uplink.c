#include "fleet/peel/uplink.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/link.h"
#include "core/http/metrics.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/js.h"
#include "fleet/peel/bootstrap.h"
#include "fleet/peel/conf.h"
#include "fleet/peel/enroll_client.h"
#include "fleet/peel/identity.h"
#include "fleet/peel/metric.h"
#include "fleet/peel/rotation.h"
#include "core/sys/chance.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/loop.h"

/* How often it is checked whether credentials end soon. */
#define RENEWAL_LOOK (INT64_C(3600) * 1000000000)
/* How often it is checked whether there are credentials that can be used. */
#define CREDS_LOOK (INT64_C(1) * 1000000000)
/* Pauses before credentials that servers refuse are renewed; they double. Not too short: a server
 * that lost its disk gets the fleet's keys first. */
#define REVIVE_MIN (INT64_C(10) * 1000000000)
#define REVIVE_MAX (INT64_C(3600) * 1000000000)

struct uplink {
    struct uplink_options options;
    struct enroll_client *enroll_client;
    struct link *link;
    struct nats_js js;
    unsigned char id_secret[SHA256_SIZE]; /* of the ids of our messages */
    struct peel_account account;          /* of the fleet, while there is a link */
    struct nats_listener listener;
    struct rotation *rotation;
    struct timer retry, renewal, revival;
    int64_t revive_pause;
    bool is_rotating;                   /* the enrollment under way is only_renew */
    char problem[NATS_ERROR_TEXT_SIZE]; /* why there is no connection */
    bool was_connected;
};

bool uplink_is_connected(const struct uplink *uplink)
{
    return uplink->js.conn && nats_conn_state(uplink->js.conn) == NATS_CONN_CONNECTED;
}

bool uplink_is_from_fleet(const struct uplink *uplink, struct str header)
{
    return uplink->link && link_is_from_fleet(uplink->link, header);
}

const struct peel_account *uplink_account(const struct uplink *uplink)
{
    return &uplink->account;
}

const char *uplink_problem(const struct uplink *uplink)
{
    return uplink->problem;
}

static void set_uplink_problem(struct uplink *uplink, const char *text)
{
    const struct str part = str_slice(str_from(text), 0, sizeof(uplink->problem) - 1);

    memcpy(uplink->problem, part.p, part.n);
    uplink->problem[part.n] = '\0';
}

static void on_uplink_connected(struct uplink *uplink)
{
    const bool first = !uplink->was_connected;

    log_info("connected server=%s", nats_conn_server(uplink->js.conn));
    if (!first)
        metrics_add(uplink->options.metrics, PEEL_METRIC_RECONNECTS, 1, NULL, NULL);
    uplink->was_connected = true;
    timer_clear(loop_timers(uplink->options.loop), &uplink->revival);
    uplink->revive_pause = REVIVE_MIN;
    rotation_connect(uplink->rotation, &uplink->js);
    uplink->options.connected(uplink->options.self, &uplink->js, first);
}

static void on_revival(struct timer *timer);

/* Servers refuse the credentials: perhaps they know another signing key now. */
static void revive_later(struct uplink *uplink)
{
    const int64_t half = uplink->revive_pause / 2;

    if (timer_is_set(&uplink->revival))
        return;
    timer_set(loop_timers(uplink->options.loop), &uplink->revival,
              clock_after(clock_now(), half + (int64_t)(chance_number() % (uint64_t)half)),
              on_revival);
    uplink->revive_pause =
        2 * uplink->revive_pause < REVIVE_MAX ? 2 * uplink->revive_pause : REVIVE_MAX;
}

static void on_uplink_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct uplink *uplink = container_of(listener, struct uplink, listener);
    const char *text = event->error ? event->error->text : "";

    if (event->kind != NATS_EVENT_CONNECTED && event->error &&
        event->error->fault == NATS_FAULT_AUTH)
        revive_later(uplink);
    switch (event->kind) {
    case NATS_EVENT_CONNECTED: on_uplink_connected(uplink); break;
    case NATS_EVENT_DISCONNECTED:
        metrics_add(uplink->options.metrics, PEEL_METRIC_DISCONNECTS, 1, NULL, NULL);
        if (event->error && event->error->fault == NATS_FAULT_SLOW)
            metrics_add(uplink->options.metrics, PEEL_METRIC_SLOW_CONSUMERS, 1, NULL, NULL);
        log_warning("disconnected error=%s", text);
        set_uplink_problem(uplink, text);
        break;
    case NATS_EVENT_RETRY:
        if (strcmp(uplink->problem, text) != 0)
            log_warning("cannot connect, trying again error=%s", text);
        set_uplink_problem(uplink, text);
        break;
    case NATS_EVENT_ERROR:
    case NATS_EVENT_DENIED: log_warning("refused by the bus error=%s", text); break;
    default: break;
    }
}

static void close_link(struct uplink *uplink)
{
    rotation_connect(uplink->rotation, NULL);
    link_free(uplink->link);
    uplink->link = NULL;
    uplink->js = (struct nats_js){ 0 };
    uplink->was_connected = false;
}

static int open_uplink_conn(struct uplink *uplink, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct peel_conf *conf = uplink->options.conf;
    const char *cached = bootstrap_cached_servers(&arena, conf);
    const char *urls = conf->nats_url && conf->nats_url[0] ? conf->nats_url
                       : cached                            ? cached
                                                           : LINK_URL_DEFAULT;
    const struct link_options options = {
        .urls = urls,
        .ca_file = conf->nats_ca,
        .auth_dir = conf->auth_dir,
        .creds_file = uplink->options.identity->creds_file,
        .name = arena_printf(&arena, "zester-peel-%s", uplink->options.identity->id),
    };

    if (peel_identity_pin_creds(uplink->options.identity, &uplink->account, err) < 0)
        return -1;
    uplink->link = link_new(uplink->options.hub, &options, err);
    if (!uplink->link)
        return -1;
    if (strcmp(link_user(uplink->link), uplink->options.identity->id) != 0) {
        (void)err_set(err, ERR_INVALID, "the credentials are those of '%s', this is '%s'",
                      link_user(uplink->link), uplink->options.identity->id);
        close_link(uplink);
        return -1;
    }
    if (link_has_shared_creds(uplink->link))
        log_warning(LINK_SHARED_CREDS " file=%s", options.creds_file);
    nats_nkey_derive(&uplink->options.identity->key, NATS_JS_ID_PURPOSE, uplink->id_secret);
    uplink->js = (struct nats_js){ .conn = link_conn(uplink->link),
                                   .id_secret = { (const char *)uplink->id_secret,
                                                  sizeof(uplink->id_secret) } };
    nats_listen(uplink->js.conn, &uplink->listener, on_uplink_event);
    return 0;
}

static void try_link(struct uplink *uplink);

/* All earlier messages were sent. */
static void on_uplink_flushed(void *self, const struct nats_error *error)
{
    struct uplink *uplink = self;

    if (!error)
        nats_conn_reconnect(uplink->js.conn);
}

/* Not only at the end of the old ones, when all peels would have to come back at once. */
static void use_new_creds(struct uplink *uplink)
{
    struct err err;

    if (uplink_is_connected(uplink))
        (void)nats_flush(uplink->js.conn, on_uplink_flushed, uplink, &err);
}

static void on_rotated(struct uplink *uplink, const char *problem)
{
    if (problem) {
        log_warning("credentials are not renewed error=%s", problem);
        return;
    }
    log_info("credentials renewed");
    use_new_creds(uplink);
}

static void on_enrolled(void *self, const char *problem)
{
    struct uplink *uplink = self;

    if (uplink->is_rotating) {
        on_rotated(uplink, problem);
        return;
    }
    if (problem) {
        log_error("not enrolled: %s; a restart asks again", problem);
        set_uplink_problem(uplink, problem);
        if (enroll_client_is_untrusted(uplink->enroll_client))
            uplink->options.untrusted(uplink->options.self);
        return;
    }
    log_info("enrolled");
    try_link(uplink);
}

static bool has_creds(const struct uplink *uplink)
{
    struct fs_info info;
    struct err err;

    return fs_stat(uplink->options.identity->creds_file, &info, &err) < 0 || info.kind != FS_NONE;
}

enum purpose { ENROLL, RENEW, ROTATE };

static void begin_enrollment(struct uplink *uplink, enum purpose purpose)
{
    const bool renew = purpose != ENROLL;
    struct err err;

    if (uplink->enroll_client && enroll_client_is_done(uplink->enroll_client) && renew) {
        enroll_client_free(uplink->enroll_client);
        uplink->enroll_client = NULL;
    }
    if (uplink->enroll_client)
        return;
    uplink->is_rotating = purpose == ROTATE;
    if (!renew)
        set_uplink_problem(uplink, "not enrolled yet");
    uplink->enroll_client =
        enroll_client_begin(&(struct enroll_client_options){ .loop = uplink->options.loop,
                                                             .conf = uplink->options.conf,
                                                             .identity = uplink->options.identity,
                                                             .hostname = uplink->options.host,
                                                             .renew = renew,
                                                             .only_renew = purpose == ROTATE,
                                                             .done = on_enrolled,
                                                             .self = uplink },
                            &err);
    if (!uplink->enroll_client)
        log_error("cannot enroll error=%s", err.text);
}

/* New credentials are in use from the next connection on, at the end of the old ones. */
static void on_renewal(struct timer *timer)
{
    struct uplink *uplink = container_of(timer, struct uplink, renewal);

    timer_set(loop_timers(uplink->options.loop), timer, clock_after(clock_now(), RENEWAL_LOOK),
              on_renewal);
    if (!peel_identity_must_renew(uplink->options.identity, clock_wall() / CLOCK_SECOND))
        return;
    log_info("credentials end soon, renewing them");
    begin_enrollment(uplink, RENEW);
}

static void on_revival(struct timer *timer)
{
    struct uplink *uplink = container_of(timer, struct uplink, revival);

    if (uplink_is_connected(uplink))
        return;
    log_info("the bus refuses the credentials, renewing them");
    begin_enrollment(uplink, ROTATE);
}

static void on_new_key(void *self)
{
    begin_enrollment(self, ROTATE);
}

static void on_uplink_retry(struct timer *timer)
{
    try_link(container_of(timer, struct uplink, retry));
}

/* Without credentials it enrolls; with some that cannot be used it waits for others. */
static void try_link(struct uplink *uplink)
{
    struct err err;

    if (uplink->link)
        return;
    if (!has_creds(uplink)) {
        begin_enrollment(uplink, ENROLL);
    } else if (open_uplink_conn(uplink, &err) == 0) {
        return;
    } else {
        if (strcmp(uplink->problem, err.text) != 0)
            log_warning("no connection yet error=%s", err.text);
        set_uplink_problem(uplink, err.text);
    }
    timer_set(loop_timers(uplink->options.loop), &uplink->retry,
              clock_after(clock_now(), CREDS_LOOK), on_uplink_retry);
}

struct uplink *uplink_new(const struct uplink_options *options)
{
    struct uplink *uplink = mem_zalloc(sizeof(*uplink));

    uplink->options = *options;
    uplink->revive_pause = REVIVE_MIN;
    uplink->rotation = rotation_new(&(struct rotation_options){ .loop = options->loop,
                                                                .identity = options->identity,
                                                                .account = &uplink->account.key,
                                                                .renew = on_new_key,
                                                                .self = uplink });
    set_uplink_problem(uplink, "not connected yet");
    return uplink;
}

void uplink_begin(struct uplink *uplink)
{
    try_link(uplink);
    timer_set(loop_timers(uplink->options.loop), &uplink->renewal, clock_now(), on_renewal);
}

void uplink_restart(struct uplink *uplink)
{
    uplink->options.closing(uplink->options.self);
    close_link(uplink);
    try_link(uplink);
}

void uplink_look(struct uplink *uplink)
{
    rotation_look(uplink->rotation);
}

void uplink_free(struct uplink *uplink)
{
    if (!uplink)
        return;
    enroll_client_free(uplink->enroll_client);
    rotation_connect(uplink->rotation, NULL);
    timer_clear(loop_timers(uplink->options.loop), &uplink->revival);
    timer_clear(loop_timers(uplink->options.loop), &uplink->retry);
    timer_clear(loop_timers(uplink->options.loop), &uplink->renewal);
    link_free(uplink->link);
    rotation_free(uplink->rotation); /* after its last callback */
    free(uplink);
}
