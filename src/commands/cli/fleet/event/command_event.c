/* zester event: sends and watches events. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/glob.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/event/event_why.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/shared/pairs.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "core/data/yaml_dump.h"
#include "fleet/view/event.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/header.h"
#include "fleet/nats/publisher.h"
#include "fleet/reactor/rule_set.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/event.h"

#define STORE_NS  (INT64_C(10) * 1000000000)
#define KEY_WIDTH 44

struct event_args {
    struct fleet_options fleet;
};

#define ARGS struct event_args

static const struct param event_options[] = { FLEET_OPTIONS(ARGS, fleet), { 0 } };
static const struct param watch_options[] = {
    FLEET_OPTIONS_TIMED(ARGS, fleet, "how long to watch; default: until Ctrl-C",
                        .default_text = NULL),
    { 0 },
};

/* --- send ------------------------------------------------------------------------ */

static int make_operator_event(struct cli *cli, struct param_strs operands, struct fleet_event *ret,
                               struct err *err)
{
    const struct param_strs pairs = { operands.n - 1, operands.p + 1 };
    struct value data;

    if (pairs_read(cli->arena, &pairs, &data, err) < 0)
        return -1;
    return fleet_event_make(cli->arena, str_from(operands.p[0]), data, clock_wall(), ret, err);
}

/* The stream replies once it has stored the message, and detects duplicates by ID. */
static int store_event(struct fleet *fleet, const struct fleet_event *sending, struct err *err)
{
    AUTO_BUF struct buf payload = BUF_INIT(BUF_NO_LIMIT), header = BUF_INIT(NATS_HEADER_MAX);
    struct nats_stored_ack ack;
    struct nats_error refusal;
    struct str reply;

    if (record_encode(&payload, &event_type, &sending->event, err) < 0 ||
        nats_header_add(&header, "Nats-Msg-Id", str_from(sending->id), err) < 0)
        return -1;
    if (fleet_request(fleet,
                      &(struct nats_pub){ .subject = str_from(sending->subject),
                                          .header = buf_view(&header),
                                          .payload = buf_view(&payload) },
                      STORE_NS, &reply, err) < 0)
        return err_wrap(err, "the stream '" STORE_EVENTS "' did not store the event");
    if (nats_stored_ack_decode(reply, STORE_EVENTS, &ack, &refusal) < 0)
        return nats_error_to_err(&refusal, err);
    return 0;
}

static int print_sent(struct cli *cli, enum fleet_format format, const struct fleet_event *sending)
{
    const struct value result = fleet_event_receipt(cli->arena, sending);

    if (format == FLEET_TEXT) {
        printf("Event sent\n  id:        %s\n  tag:       %s\n  match key: %s\n  subject:   %s\n",
               sending->id, sending->event.tag, sending->key, sending->subject);
        return CLI_OK;
    }
    return fleet_print(cli, format, &result);
}

static int run_send(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct event_args *want = args;
    struct fleet_event sending;
    struct err err;

    if (make_operator_event(cli, operands, &sending, &err) < 0)
        return cli_err(cli, &err);
    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    fleet_learn_time(cli->fleet); /* masters drop what is too old */
    sending.event.ts = bus_time_value();
    return store_event(cli->fleet, &sending, &err) < 0
               ? cli_err(cli, &err)
               : print_sent(cli, want->fleet.format, &sending);
}

/* --- watch ------------------------------------------------------------------------ */

struct watching {
    struct str pattern; /* a NULL view: all */
    enum fleet_format format;
    bool is_over, has_failed;
    struct err err;
};

static void print_event_data(struct buf *out, const struct value *data)
{
    struct err err;

    if (data->kind == VALUE_MAP && data->map->count > 0)
        (void)json_print(out, data, JSON_STYLE_TEXT, &err); /* what has no JSON is left out */
}

static void print_event_line(struct buf *out, const struct event_source *source,
                             const struct event *event)
{
    const time_t seconds = (time_t)event->ts.seconds;
    struct tm tm = { 0 };

    (void)localtime_r(&seconds, &tm);
    buf_printf(out, "%02d:%02d:%02d  %-*s  ", tm.tm_hour, tm.tm_min, tm.tm_sec, KEY_WIDTH,
               source->key);
    if (event->depth > 0)
        buf_printf(out, "depth=%d  ", event->depth);
    print_event_data(out, &event->data);
    buf_cut(out, str_trim_right(buf_view(out)).n);
    buf_add_char(out, '\n');
}

static void print_event_record(struct arena *arena, enum fleet_format format, struct buf *out,
                               const struct value *record)
{
    struct err err;

    if (format == FLEET_JSON) {
        (void)json_print(out, record, JSON_STYLE_TEXT, &err);
        buf_add_char(out, '\n');
    } else {
        buf_add_text(out, "---\n");
        (void)yaml_dump(arena, out, record, &err);
    }
}

/* Malformed events are skipped. Origin and tag come from the subject. */
static void on_watched_event(void *self, const struct nats_msg *msg)
{
    const struct watching *watching = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct event_source source;
    struct event event;
    struct err err;

    if (!event_parse_subject(&arena, msg->subject, &source) ||
        record_decode(&arena, &event_type, 0, msg->payload, &event, &err) < 0 ||
        (watching->pattern.p && !glob_match(watching->pattern, str_from(source.key))))
        return;
    if (watching->format == FLEET_TEXT) {
        print_event_line(&out, &source, &event);
    } else {
        const struct value record = event_describe(&arena, &source, &event);

        print_event_record(&arena, watching->format, &out, &record);
    }
    (void)fwrite(buf_text(&out), 1, out.n, stdout);
    (void)fflush(stdout);
}

static void on_watch_signal(void *self, int signo)
{
    (void)signo;
    ((struct watching *)self)->is_over = true;
}

static void on_watch_refused(void *self, const struct nats_error *error)
{
    struct watching *watching = self;

    watching->has_failed = watching->is_over = true;
    (void)nats_error_to_err(error, &watching->err);
}

/* The server has the subscription: later events are seen. */
static void on_watch_ready(void *self, const struct nats_error *error)
{
    if (error)
        on_watch_refused(self, error);
    else if (!((struct watching *)self)->has_failed)
        (void)fputs("Watching events; press Ctrl-C to stop\n", stderr);
}

static int watch_events(struct fleet *fleet, struct watching *watching, int64_t timeout,
                        struct err *err)
{
    struct nats_sub *sub;

    if (loop_on_signal(fleet->loop, SIGINT, on_watch_signal, watching, err) < 0 ||
        loop_on_signal(fleet->loop, SIGTERM, on_watch_signal, watching, err) < 0)
        return -1;
    sub = nats_sub_new(fleet->js.conn,
                       &(struct nats_sub_options){ .subject = "zester.event.>",
                                                   .message = on_watched_event,
                                                   .failed = on_watch_refused,
                                                   .self = watching },
                       err);
    if (!sub || nats_flush(fleet->js.conn, on_watch_ready, watching, err) < 0)
        return -1;
    (void)fleet_wait(fleet, &watching->is_over, timeout, err);
    nats_sub_free(sub);
    if (!watching->has_failed)
        return 0;
    *err = watching->err;
    return -1;
}

static int run_event_watch(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct event_args *want = args;
    const int64_t timeout = want->fleet.has_timeout ? want->fleet.timeout : CLOCK_NEVER;
    struct watching *watching = ARENA_NEW(cli->arena, struct watching);
    struct err err;
    int result;

    *watching = (struct watching){ .format = want->fleet.format };
    if (operands.n > 0)
        watching->pattern = rule_pattern(cli->arena, str_from(operands.p[0]));
    result = watch_events(cli->fleet, watching, timeout, &err);
    watching->is_over = true; /* what is under way may still call back */
    return result < 0 ? cli_err(cli, &err) : CLI_OK;
}

/* --- why --------------------------------------------------------------------------- */

static int run_event_why(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct event_args *want = args;

    return event_why(cli, &want->fleet, operands.p[0]);
}

/* --- the group ------------------------------------------------------------------- */

static const struct command event_commands[] = {
    {
        .name = "send",
        .operands = "TAG [KEY=VALUE...]",
        .summary = "send an event as an operator",
        .details =
            "TAG consists of parts separated by slashes or dots. The event is stored when this\n"
            "returns; rules match the key _admin/TAG. Values are text.\n",
        .examples = "  zester event send myco/deploy/finished version=1.2.3\n"
                    "  zester event send maintenance/start reason='kernel patching'\n",
        .options = event_options,
        .args_size = sizeof(struct event_args),
        .least = 1,
        .most = COMMAND_MANY,
        .run = run_send,
    },
    {
        .name = "watch",
        .operands = "[PATTERN]",
        .summary = "print events as they happen",
        .details =
            "PATTERN matches the key <origin>/<tag>, as in rules: '*' matches '/' too.\n"
            "A line has the time, the key, the depth of a chain of reactions, and the data as\n"
            "JSON. Events are shown as they are published; zester event why ID shows what a\n"
            "master did about one (--format json has the ids).\n",
        .examples = "  zester event watch\n"
                    "  zester event watch '_master/enroll/pending/*'\n"
                    "  zester event watch '*/beacon/*/service' --format json\n",
        .options = watch_options,
        .args_size = sizeof(struct event_args),
        .most = 1,
        FLEET_CONNECT(ARGS, fleet),
        .run = run_event_watch,
    },
    {
        .name = "why",
        .operands = "ID",
        .summary = "show what happened to an event",
        .details =
            "Which rules it fired and what each of them did, or why it was dropped; which event\n"
            "caused it, and which events and jobs it caused. Kept for a week.\n",
        .examples = "  zester event why 2x8RmcqCdbVJqVGJMGzK4TWGUZb\n",
        .options = event_options,
        .args_size = sizeof(struct event_args),
        .least = 1,
        .most = 1,
        FLEET_CONNECT(ARGS, fleet),
        .run = run_event_why,
    },
    { 0 },
};

const struct command command_event = {
    .name = "event",
    .operands = "",
    .summary = "send, watch and explain events",
    .examples = "  zester event send maintenance/start reason='kernel patching'\n"
                "  zester event watch\n",
    .commands = event_commands,
};
