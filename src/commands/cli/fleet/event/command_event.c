/* zester event: sends and watches events. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "commands/cli/fleet/commands.h"
#include "commands/cli/fleet/event/event_line.h"
#include "commands/cli/fleet/event/event_list.h"
#include "commands/cli/fleet/event/event_why.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/link.h"
#include "commands/cli/shared/local_time.h"
#include "commands/cli/shared/pairs.h"
#include "core/data/value.h"
#include "fleet/view/event.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/error.h"
#include "fleet/nats/header.h"
#include "fleet/nats/publisher.h"
#include "fleet/reactor/rule_set.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/wire/event.h"

#define STORE_NS (INT64_C(10) * 1000000000)

struct event_args {
    struct fleet_options fleet;
    const char *since;
};

#define ARGS struct event_args

static const struct param event_options[] = { FLEET_OPTIONS(ARGS, fleet), { 0 } };
static const struct param watch_options[] = {
    FLEET_OPTIONS_TIMED(ARGS, fleet, "how long to watch; default: until Ctrl-C",
                        .default_text = NULL),
    { 0 },
};

static const struct param list_options[] = {
    PARAM("since", STR, ARGS, since, "the oldest: how long ago, or a time of this machine's zone",
          .default_text = "1h", .kind_text = "TIME|DURATION"),
    FLEET_OPTIONS(ARGS, fleet),
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
    struct event_line_style line;
    bool is_over, has_failed;
    struct err err;
};

static void on_watched_event(void *self, const struct nats_msg *msg)
{
    const struct watching *watching = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    if (event_line_print(&arena, &watching->line, msg, &out))
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

    *watching = (struct watching){ .line.format = want->fleet.format };
    if (operands.n > 0)
        watching->line.pattern = rule_pattern(cli->arena, str_from(operands.p[0]));
    result = watch_events(cli->fleet, watching, timeout, &err);
    watching->is_over = true; /* what is under way may still call back */
    return result < 0 ? cli_err(cli, &err) : CLI_OK;
}

/* --- list -------------------------------------------------------------------------- */

static int check_event_list(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct event_args *want = args;
    int64_t since;
    struct err err;

    (void)operands;
    if (local_time_read(want->since, clock_wall(), &since, &err) < 0)
        return cli_usage(cli, "--since: %s", err.text);
    return CLI_OK;
}

static int run_event_list(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct event_args *want = args;
    struct event_line_style line = { .format = want->fleet.format, .has_date = true };
    int64_t since = 0;
    struct err err;

    if (operands.n > 0)
        line.pattern = rule_pattern(cli->arena, str_from(operands.p[0]));
    if (local_time_read(want->since, clock_wall(), &since, &err) < 0 ||
        event_list_print(cli->fleet, &line, since, &err) < 0)
        return cli_err(cli, &err);
    return CLI_OK;
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
        .name = "list",
        .operands = "[PATTERN]",
        .summary = "list events that are stored, oldest first",
        .details =
            "PATTERN matches the key <origin>/<tag>, as in rules: '*' matches '/' too. A line has\n"
            "the time, the key, the depth of a chain of reactions, and the data as JSON. Events\n"
            "are kept for a week. --since is a duration (2h), a time of today (20:03), or a date\n"
            "with or without a time.\n",
        .examples = "  zester event list\n"
                    "  zester event list '*/beacon/*' --since 2d\n"
                    "  zester event list --since '2026-11-19 20:00' --format json\n",
        .options = list_options,
        .args_size = sizeof(struct event_args),
        .most = 1,
        .check = check_event_list,
        FLEET_CONNECT(ARGS, fleet),
        .run = run_event_list,
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
    .summary = "send, watch, list and explain events",
    .examples = "  zester event send maintenance/start reason='kernel patching'\n"
                "  zester event watch\n",
    .commands = event_commands,
};
