/* kepler wait: wait until services meet a condition. */
#include <stdio.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "commands/cli/kepler/client.h"
#include "commands/cli/kepler/kepler.h"
#include "core/sys/clock.h"
#include "kepler/config/condition.h"
#include "kepler/control/message.h"

struct wait_args {
    struct kepler_globals globals;
    int64_t timeout;
};

#define ARGS struct wait_args
static const struct param wait_options[] = {
    PARAM("timeout", DURATION, ARGS, timeout, "give up after this long",
          PARAM_RANGE(CLOCK_MS, INT64_MAX)),
    KEPLER_GLOBALS(ARGS, globals),
    { 0 },
};
#undef ARGS

struct service_wait {
    struct kepler_client client;
    struct request_wait request;
    struct timer timer;
    bool answered;
    int status;
};

/* Each text is a sentence about one service. */
static size_t report_unmet(const struct value *body, const char *key, const char *prefix)
{
    const struct value *list = value_get(body, key);
    size_t count = 0;

    for (size_t i = 0; list && value_is(list, VALUE_LIST) && i < list->list->count; i++)
        if (value_is(&list->list->items[i], VALUE_STR)) {
            (void)kepler_error("%s%s", prefix, list->list->items[i].s.p);
            count++;
        }
    return count;
}

static void on_wait_message(void *self, struct kepler_client *client, const struct message *message)
{
    struct service_wait *wait = self;
    size_t unmet;

    if (message->kind != MESSAGE_REPLY || wait->answered || message->id != client->last_id)
        return;
    wait->answered = true;
    wait->status = kepler_client_check(message);
    if (wait->status == 0) {
        unmet = report_unmet(&message->body, "errors", "");
        unmet += report_unmet(&message->body, "pending", "timeout: ");
        wait->status = unmet > 0 ? KEPLER_FAILED : KEPLER_OK;
    }
    kepler_client_stop(client);
}

/* The daemon says what is missing. */
static void on_wait_late(struct timer *timer)
{
    struct service_wait *wait = container_of(timer, struct service_wait, timer);

    wait->request.now = true;
    (void)kepler_client_send(&wait->client, REQUEST_WAIT, &wait->request);
}

static int wait_for_services(struct service_wait *wait, struct arena *arena, int64_t timeout)
{
    int status = kepler_client_open(&wait->client, arena, on_wait_message, wait);

    if (status == 0) {
        (void)kepler_client_send(&wait->client, REQUEST_WAIT, &wait->request);
        if (timeout > 0)
            timer_set(loop_timers(wait->client.loop), &wait->timer,
                      clock_after(clock_now(), timeout), on_wait_late);
        kepler_client_run(&wait->client);
        timer_clear(loop_timers(wait->client.loop), &wait->timer);
        status = wait->answered ? wait->status
                                : kepler_error("lost the connection to the daemon%s%s",
                                               wait->client.why[0] ? ": " : "", wait->client.why);
    }
    kepler_client_done(&wait->client);
    return status;
}

static int run_wait(struct cli *cli, const void *raw, struct param_strs operands)
{
    const struct wait_args *args = raw;
    struct service_wait wait = { .request = { .condition = CONDITION_DEFAULT } };
    enum condition condition;
    struct err err;

    if (condition_parse(str_from(operands.p[operands.n - 1]), &condition) == 0)
        wait.request.condition = operands.p[--operands.n];
    if (operands.n == 0)
        return cli_usage(cli, "missing SERVICE");
    wait.request.services = operands;
    if (kepler_config_path(cli->arena, &args->globals, &wait.request.config, &err) < 0)
        return kepler_err(&err);
    return wait_for_services(&wait, cli->arena, args->timeout);
}

const struct command kepler_command_wait = {
    .name = "wait",
    .operands = "SERVICE... [CONDITION]",
    .lookup = "graph",
    .summary = "wait until services meet a condition",
    .details = "A CONDITION is one of depends_on, by default service_started; 'kepler doc "
               "depends_on' lists\n"
               "them.\n"
               "Ends with an error as soon as a service can no longer meet it. Starts nothing.\n",
    .examples = "  kepler wait db service_healthy --timeout 30s\n"
                "  kepler wait migration service_completed_successfully\n",
    .options = wait_options,
    .args_size = sizeof(struct wait_args),
    .least = 1,
    .most = COMMAND_MANY,
    .run = run_wait,
};
