#include "commands/cli/fleet/link.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "fleet/bus/identity.h"
#include "fleet/bus/link.h"
#include "fleet/bus/request_signature.h"
#include "commands/cli/shared/command.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "fleet/enroll/https.h"
#include "core/data/yaml_dump.h"
#include "fleet/jobs/reading.h"
#include "fleet/nats/creds.h"
#include "fleet/nats/error.h"
#include "fleet/nats/header.h"
#include "fleet/nats/hub.h"
#include "fleet/nats/request.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/loop.h"
#include "core/sys/path.h"
#include "fleet/wire/operator.h"

#define CONNECTION_NAME     "zester"
#define DEFAULT_AUTH_DIR    "/var/lib/zester/auth"
#define DEFAULT_ENROLL_ADDR ":" HTTPS_PORT
/* Attempts without success, for each server. */
#define ATTEMPTS 2
/* For the server to see what was published, before the connection is looked at again. */
#define FLUSH_NS (15 * CLOCK_SECOND)
/* How often it is asked who publishes. */
#define LEADER_NS (2 * CLOCK_SECOND)

#define OUR_SUBJECTS      "zester."
#define OPERATOR_SUBJECTS OUR_SUBJECTS "operator."

struct globals {
    struct fleet_options fleet;
};

const struct param fleet_globals[] = { FLEET_OPTIONS(struct globals, fleet),
                                       COMMAND_COLOR_OPTIONS,
                                       { 0 } };

/* --- configuration ------------------------------------------------------------------ */

/* The block `master`. */
struct master_block {
    struct param_strs urls;
    const char *creds_file, *tls_ca;
};

#define BLOCK struct master_block

static const struct param block_rows[] = {
    PARAM("urls", STRS, BLOCK, urls, "servers of the bus"),
    PARAM("creds_file", STR, BLOCK, creds_file, "the operator's credentials"),
    PARAM("tls_ca", STR, BLOCK, tls_ca, "the CA certificate of the bus"),
    { 0 },
};

static const char *join_urls(struct arena *arena, struct param_strs urls)
{
    const char *text = NULL;

    for (size_t i = 0; i < urls.n; i++)
        text = text ? arena_printf(arena, "%s,%s", text, urls.p[i]) : urls.p[i];
    return text;
}

static int read_master_block(struct arena *arena, const struct value *block,
                             struct fleet_target *target, struct diags *diags)
{
    struct master_block master = { 0 };

    if (params_decode(arena, block_rows, &(struct params_policy){ .noun = "key" }, block, &master,
                      diags) < 0)
        return -1;
    target->urls = join_urls(arena, master.urls);
    target->creds = master.creds_file;
    target->ca = master.tls_ca;
    return 0;
}

/* The configuration of a master on this machine. */
static void read_daemon_conf(struct arena *arena, const struct value *conf,
                             struct fleet_target *target)
{
    const char *auth_dir = value_get_text(conf, "auth_dir");
    const char *urls = value_get_text(conf, "nats_url");
    const struct value *enroll = value_get(conf, "enroll");

    target->auth_dir = auth_dir ? auth_dir : DEFAULT_AUTH_DIR;
    target->urls = urls ? urls : LINK_URL_DEFAULT;
    target->ca = value_get_text(conf, "nats_ca");
    target->enroll_addr =
        enroll && enroll->kind == VALUE_MAP ? value_get_text(enroll, "addr") : NULL;
    if (!target->enroll_addr)
        target->enroll_addr = DEFAULT_ENROLL_ADDR;
    target->creds = path_join(arena, target->auth_dir, identity_file_name(IDENTITY_ADMIN_CREDS));
}

static int read_link_conf(struct arena *arena, const char *file, struct str text,
                          struct fleet_target *target, struct err *err)
{
    struct diags diags = DIAGS_INIT(arena);
    struct value conf;
    const struct value *block;

    if (yaml_parse(arena, file, text, NULL, &conf, &diags) < 0)
        return diags_to_err(&diags, err);
    block = value_get(&conf, "master");
    if (!block) {
        read_daemon_conf(arena, &conf, target);
        return 0;
    }
    return read_master_block(arena, block, target, &diags) < 0 ? diags_to_err(&diags, err) : 0;
}

/* False: missing or not readable by this user; try the next place. */
static int try_file(struct arena *arena, const char *file, bool is_named,
                    struct fleet_target *target, bool *ret_is_there, struct err *err)
{
    struct str text = { 0 };

    if (fs_read(arena, file, YAML_SIZE_MAX, &text, err) < 0 &&
        (is_named || err->code != ERR_SYSTEM || err->errnum != EACCES))
        return -1;
    *ret_is_there = text.p != NULL;
    if (text.p)
        target->file = file;
    if (!text.p)
        return is_named ? err_set(err, ERR_NOT_FOUND, "'%s' does not exist", file) : 0;
    return read_link_conf(arena, file, text, target, err);
}

static int find_conf(struct arena *arena, const char *named, struct fleet_target *target,
                     struct err *err)
{
    const char *home = getenv("HOME"), *variable = getenv(FLEET_CONFIG_VARIABLE);
    bool is_there;

    if (named)
        return try_file(arena, named, true, target, &is_there, err);
    if (variable && variable[0])
        return try_file(arena, variable, true, target, &is_there, err) < 0
                   ? err_wrap(err, FLEET_CONFIG_VARIABLE)
                   : 0;
    if (try_file(arena, FLEET_CONFIG, false, target, &is_there, err) < 0)
        return -1;
    if (is_there || !home)
        return 0;
    return try_file(arena, path_join(arena, home, FLEET_CONFIG_HOME), false, target, &is_there,
                    err);
}

int fleet_find(struct arena *arena, const struct fleet_options *options, struct fleet_target *ret,
               struct err *err)
{
    const char *variable = getenv(FLEET_URL_VARIABLE);

    *ret = (struct fleet_target){ 0 };
    if (find_conf(arena, options->config, ret, err) < 0)
        return -1;
    if (options->masters.n > 0)
        ret->urls = join_urls(arena, options->masters);
    else if (variable && variable[0])
        ret->urls = variable;
    else if (!ret->urls)
        ret->urls = FLEET_URL_DEFAULT;
    if (options->creds)
        ret->creds = options->creds;
    else if (!ret->creds)
        ret->creds = path_join(arena, DEFAULT_AUTH_DIR, identity_file_name(IDENTITY_ADMIN_CREDS));
    if (options->nats_ca)
        ret->ca = options->nats_ca;
    if (!ret->auth_dir)
        ret->auth_dir = path_dirname(arena, ret->creds);
    return 0;
}

/* --- connecting --------------------------------------------------------------------- */

struct fleet_connection {
    struct fleet fleet; /* first: what callers see */
    struct link *link;
    struct nats_creds creds; /* sign requests */
    struct nats_listener listener;
    struct timer timer;
    const bool *done; /* what is waited for; NULL: nothing */
    unsigned attempts_left;
    bool was_connected, is_over, is_late;
    struct err err; /* why it is over */
};

static struct fleet_connection *connection_of(struct fleet *fleet)
{
    return container_of(fleet, struct fleet_connection, fleet);
}

/* After the first connection, the client reconnects as long as the command waits. */
static void on_link_event(struct nats_listener *listener, const struct nats_event *event)
{
    struct fleet_connection *connection = container_of(listener, struct fleet_connection, listener);

    if (event->kind == NATS_EVENT_CONNECTED)
        connection->was_connected = true;
    if (connection->was_connected || !event->error)
        return;
    (void)nats_error_to_err(event->error, &connection->err);
    if (event->kind == NATS_EVENT_RETRY && connection->attempts_left > 0)
        connection->attempts_left--;
    if (event->kind == NATS_EVENT_CLOSED || connection->attempts_left == 0)
        connection->is_over = true;
}

static void on_link_late(struct timer *timer)
{
    container_of(timer, struct fleet_connection, timer)->is_late = true;
}

/* At the end of each turn. */
static void on_link_step(void *self)
{
    const struct fleet_connection *connection = self;

    if (connection->done && (*connection->done || connection->is_over || connection->is_late))
        loop_stop(connection->fleet.loop);
}

static int wait_until_done(struct fleet_connection *connection, const bool *done, int64_t timeout)
{
    struct timers *timers = loop_timers(connection->fleet.loop);

    connection->is_late = false;
    connection->done = done;
    timer_set(timers, &connection->timer, clock_after(clock_now(), timeout), on_link_late);
    loop_run(connection->fleet.loop);
    timer_clear(timers, &connection->timer);
    connection->done = NULL;
    return *done ? 0 : -1;
}

static unsigned count_urls(const char *urls)
{
    unsigned count = 1;

    for (; *urls; urls++)
        count += *urls == ',';
    return count;
}

static int start_client(struct fleet_connection *connection, const struct fleet_target *target,
                        struct err *err)
{
    struct fleet *fleet = &connection->fleet;

    fleet->loop = loop_new(err);
    if (!fleet->loop)
        return -1;
    fleet->hub = nats_hub_new(fleet->loop);
    connection->link = link_new(fleet->hub,
                                &(struct link_options){ .urls = target->urls,
                                                        .ca_file = target->ca,
                                                        .auth_dir = target->auth_dir,
                                                        .creds_file = target->creds,
                                                        .name = CONNECTION_NAME },
                                err);
    if (!connection->link)
        return -1;
    if (link_has_shared_creds(connection->link))
        (void)fprintf(stderr, "warning: " LINK_SHARED_CREDS " %s\n", target->creds);
    fleet->js = (struct nats_js){ .conn = link_conn(connection->link) };
    if (link_operator(connection->link)) {
        if (link_expires(connection->link) <= clock_wall() / CLOCK_SECOND)
            return err_set(err, ERR_INVALID,
                           "the credentials of operator '%s' have expired: ask for new ones "
                           "(zester operator issue %s)",
                           link_operator(connection->link), link_operator(connection->link));
        fleet->operator_name = arena_strdup(fleet->arena, link_operator(connection->link));
        fleet->js.prefix = arena_printf(fleet->arena, OPERATOR_SUBJECTS "%s." READING_PREFIX,
                                        fleet->operator_name);
    }
    connection->attempts_left = ATTEMPTS * count_urls(target->urls);
    nats_listen(fleet->js.conn, &connection->listener, on_link_event);
    loop_on_step(fleet->loop, on_link_step, connection);
    return 0;
}

static int open_connection(struct fleet_connection *connection, const struct fleet_target *target,
                           struct err *err)
{
    if (start_client(connection, target, err) < 0 ||
        link_read_creds(connection->link, &connection->creds, err) < 0)
        return -1;
    if (wait_until_done(connection, &connection->was_connected, FLEET_CONNECT_NS) == 0)
        return 0;
    *err = connection->err;
    if (err->code == ERR_NONE)
        err_set(err, ERR_TIMEOUT, "no answer");
    return err_wrap(err, "cannot connect to %s", target->urls);
}

int fleet_connect(struct arena *arena, const struct fleet_target *target, struct fleet **ret_fleet,
                  struct err *err)
{
    struct fleet_connection *connection = mem_zalloc(sizeof(*connection));

    connection->fleet.arena = arena;
    if (open_connection(connection, target, err) < 0) {
        fleet_close(&connection->fleet);
        return -1;
    }
    *ret_fleet = &connection->fleet;
    return 0;
}

int fleet_open(struct arena *arena, const struct fleet_options *options, struct fleet **ret_fleet,
               struct err *err)
{
    struct fleet_target target = { 0 };
    struct err cause;

    if (fleet_find(arena, options, &target, err) < 0)
        return -1;
    if (fleet_connect(arena, &target, ret_fleet, &cause) < 0)
        return err_set(err, cause.code, "%s; run 'zester doctor' for advice", cause.text);
    return 0;
}

static void detach_fleet(struct cli *cli)
{
    fleet_close(cli->fleet);
    cli->fleet = NULL;
}

int fleet_attach(struct cli *cli, const void *options)
{
    struct err err;

    if (!cli->fleet && fleet_open(cli->arena, options, &cli->fleet, &err) < 0)
        return cli_err(cli, &err);
    cli->disconnect = detach_fleet;
    return CLI_OK;
}

void fleet_close(struct fleet *fleet)
{
    struct fleet_connection *connection;

    if (!fleet)
        return;
    connection = connection_of(fleet);
    link_free(connection->link);
    nats_creds_done(&connection->creds);
    nats_hub_free(fleet->hub);
    loop_free(fleet->loop);
    free(connection);
}

int fleet_wait(struct fleet *fleet, const bool *done, int64_t timeout, struct err *err)
{
    if (wait_until_done(connection_of(fleet), done, timeout) < 0)
        return err_set(err, ERR_TIMEOUT, "no answer in time%s",
                       fleet->operator_name ? "; is a master running?" : "");
    return 0;
}

void fleet_stop(struct fleet *fleet)
{
    connection_of(fleet)->is_over = true;
}

bool fleet_is_over(struct fleet *fleet)
{
    return connection_of(fleet)->is_over;
}

/* --- requests ----------------------------------------------------------------------- */

struct pending_request {
    struct arena *arena;
    bool is_done;
    struct str reply;
    struct nats_error error;
    bool has_failed;
    const char *refusal; /* of a master; NULL: none */
};

static void on_request_reply(void *self, const struct nats_error *error, const struct nats_msg *msg)
{
    struct pending_request *request = self;
    struct str reason;

    request->is_done = true;
    request->has_failed = error != NULL;
    if (error)
        request->error = *error;
    else if (nats_header_find(msg->header, OPERATOR_REFUSED, &reason))
        request->refusal = arena_str(request->arena, reason).p;
    else
        request->reply = arena_str(request->arena, msg->payload);
}

int fleet_sign(struct fleet *fleet, struct nats_pub *pub, struct err *err)
{
    const struct fleet_connection *connection = connection_of(fleet);
    const struct request_signature_signer signer = { .key = &connection->creds.key,
                                                     .jwt = connection->creds.jwt };

    return request_signature_add(fleet->arena, &signer, true, pub, err);
}

/* "zester.dispatch" is "zester.operator.alice.dispatch" for alice. */
static struct str find_operator_subject(const struct fleet *fleet, struct str subject)
{
    if (!fleet->operator_name || !str_starts(subject, STR(OUR_SUBJECTS)))
        return subject;
    subject = str_from_offset(subject, strlen(OUR_SUBJECTS));
    return str_from(arena_printf(fleet->arena, OPERATOR_SUBJECTS "%s.%.*s", fleet->operator_name,
                                 STR_ARG(subject)));
}

int fleet_request(struct fleet *fleet, const struct nats_pub *pub, int64_t timeout,
                  struct str *ret_reply, struct err *err)
{
    struct pending_request request = { .arena = fleet->arena };
    struct nats_pub sent = *pub;

    sent.subject = find_operator_subject(fleet, pub->subject);
    if (fleet_sign(fleet, &sent, err) < 0 ||
        nats_request(fleet->js.conn, &sent, timeout, on_request_reply, &request, NULL, err) < 0)
        return -1;
    while (!request.is_done) /* it has its own timeout */
        (void)fleet_wait(fleet, &request.is_done, timeout, err);
    if (request.has_failed && request.error.fault == NATS_FAULT_TIMEOUT)
        return err_set(err, ERR_TIMEOUT,
                       "no answer within %lld s: a busy or stopped master may still act on it "
                       "later; 'zester doctor' checks the masters",
                       (long long)((timeout + CLOCK_SECOND - 1) / CLOCK_SECOND));
    if (request.has_failed)
        return nats_error_to_err(&request.error, err);
    if (request.refusal)
        return err_set(err, ERR_UNSUPPORTED, "%s", request.refusal);
    *ret_reply = request.reply;
    return 0;
}

struct flush {
    bool is_done, has_failed;
    struct nats_error error;
};

static void on_link_flushed(void *self, const struct nats_error *error)
{
    struct flush *flush = self;

    flush->is_done = true;
    flush->has_failed = error != NULL;
    if (error)
        flush->error = *error;
}

static int flush_out(struct fleet *fleet, struct err *err)
{
    struct flush flush = { 0 };

    if (nats_flush(fleet->js.conn, on_link_flushed, &flush, err) < 0)
        return -1;
    while (!flush.is_done) /* or the connection ends */
        (void)fleet_wait(fleet, &flush.is_done, FLUSH_NS, err);
    return flush.has_failed ? nats_error_to_err(&flush.error, err) : 0;
}

int fleet_tell(struct fleet *fleet, const struct nats_pub *pub, int64_t timeout, struct err *err)
{
    struct str ignored;

    if (fleet->operator_name)
        return fleet_request(fleet, pub, timeout, &ignored, err);
    if (nats_publish(fleet->js.conn, pub, err) < 0)
        return -1;
    return flush_out(fleet, err);
}

int fleet_require_admin(const struct fleet *fleet, const char *what, struct err *err)
{
    if (!fleet->operator_name)
        return 0;
    return err_set(err, ERR_UNSUPPORTED,
                   "permission denied: operator '%s' cannot %s; requires admin.creds",
                   fleet->operator_name, what);
}

/* --- common parts of commands ------------------------------------------------------- */

/* When a master has died, nobody publishes until another one gets its lease: what is asked before
 * would be lost. False: nobody has answered in time. */
static bool await_publisher(struct fleet *fleet, int64_t timeout)
{
    const struct nats_pub pub = { .subject = str_from(subject_template(SUBJECT_FILES_STATUS)) };
    const int64_t deadline = clock_after(clock_now(), timeout);
    int64_t left = timeout;

    while (left > 0) {
        struct str ignored;
        struct err err;

        if (fleet_request(fleet, &pub, left < LEADER_NS ? left : LEADER_NS, &ignored, &err) == 0 ||
            err.code != ERR_TIMEOUT)
            return true; /* or the question itself fails, and says why */
        left = deadline - clock_now();
    }
    return false;
}

int fleet_ask_publisher(struct cli *cli, const struct fleet_options *options,
                        enum subject_kind subject, struct str payload, int64_t timeout,
                        struct str *ret_reply)
{
    const struct nats_pub pub = { .subject = str_from(subject_template(subject)),
                                  .payload = payload };
    const int64_t limit = options->has_timeout ? options->timeout : timeout;
    struct err err;

    if (fleet_attach(cli, options) != CLI_OK)
        return CLI_ERROR;
    if (subject == SUBJECT_FILES_UPDATE && !await_publisher(cli->fleet, limit))
        return cli_error(cli,
                         "no master publishes at the moment: none has answered for %lld s; "
                         "'zester doctor' checks the masters",
                         (long long)(limit / CLOCK_SECOND));
    if (fleet_request(cli->fleet, &pub, limit, ret_reply, &err) == 0)
        return CLI_OK;
    if (err.code == ERR_NOT_FOUND)
        return cli_error(cli, "no master is running");
    if (err.code == ERR_UNSUPPORTED)
        return cli_err(cli, &err);
    return cli_error(cli, "no master publishes at the moment: %s", err.text);
}

const char *fleet_user(struct arena *arena)
{
    const struct passwd *entry = getpwuid(geteuid());
    const char *variable = getenv("USER");

    if (entry && entry->pw_name[0])
        return arena_strdup(arena, entry->pw_name);
    return variable && variable[0] ? variable : "unknown";
}

int fleet_print(struct cli *cli, enum fleet_format format, const struct value *result)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct err err;
    int status;

    if (format == FLEET_YAML)
        status = yaml_dump(cli->arena, &out, result, &err);
    else
        status = json_print(&out, result, JSON_STYLE_PRETTY | JSON_STYLE_TEXT, &err);
    if (status < 0)
        return cli_err(cli, &err);
    if (format != FLEET_YAML)
        buf_add_char(&out, '\n');
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
    return CLI_OK;
}
