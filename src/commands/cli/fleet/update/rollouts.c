/* zester update: rollouts, abort, status, rollback. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "core/base/vec.h"
#include "fleet/bus/store.h"
#include "commands/cli/fleet/audit.h"
#include "commands/cli/fleet/bucket.h"
#include "commands/cli/fleet/list.h"
#include "commands/cli/fleet/update/args.h"
#include "core/data/time_text.h"
#include "fleet/nats/conn.h"
#include "core/sys/clock.h"
#include "fleet/wire/peel_id.h"
#include "fleet/wire/subject.h"

#define ANSWER_NS   (INT64_C(10) * CLOCK_SECOND)
#define LOOK_NS     (CLOCK_SECOND / 2)
#define MESSAGE_MAX ((size_t)64 << 10)

/* Ask a master; the first one answers. */
static int ask_update_master(struct fleet *fleet, enum subject_kind subject,
                             const struct record_type *type, const void *question,
                             const struct record_type *reply_type, void *ret, struct err *err)
{
    AUTO_BUF struct buf bytes = BUF_INIT(MESSAGE_MAX);
    struct str reply;

    if (record_encode(&bytes, type, question, err) < 0)
        return -1;
    if (fleet_request(fleet,
                      &(struct nats_pub){ .subject = str_from(subject_template(subject)),
                                          .payload = buf_view(&bytes) },
                      ANSWER_NS, &reply, err) < 0)
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no master is running")
                                          : -1;
    return record_decode(fleet->arena, reply_type, 1, reply, ret, err);
}

/* --- one rollout ------------------------------------------------------------------------ */

static int read_rollout(struct fleet *fleet, const char *id, struct update_rollout *ret,
                        struct err *err)
{
    struct str bytes;

    if (fleet_bucket_get(fleet, STORE_UPDATE_ROLLOUTS, id, &bytes, err) < 0)
        return err->code == ERR_NOT_FOUND ? err_set(err, ERR_NOT_FOUND, "no rollout '%s'", id) : -1;
    return record_decode(fleet->arena, &update_rollout_type, 1, bytes, ret, err);
}

static const struct fleet_column result_columns[] = {
    FLEET_COLUMN("NODE", "node", .is_peel = true),
    FLEET_COLUMN("STATUS", "status"),
    FLEET_COLUMN("ERROR", "error"),
};

static int print_rollout(struct cli *cli, enum fleet_format format,
                         const struct update_rollout *rollout)
{
    const struct value result = record_value(cli->arena, &update_rollout_type, rollout);
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, result_columns);

    if (format != FLEET_TEXT)
        return fleet_print(cli, format, &result);
    printf("rollout %s of %s %s: %s%s%s\n", rollout->id,
           update_component_name(rollout->config.component), rollout->config.version,
           update_rollout_state_name(rollout->state), rollout->error[0] ? ": " : "",
           rollout->error);
    VEC_EACH (&rollout->node_results.list, node)
        fleet_list_add(&list, record_value(cli->arena, &update_result_type, node), node);
    return fleet_list_print_table(&list);
}

/* Until it is over; what changes is shown. */
static int follow_rollout(struct cli *cli, struct fleet *fleet, const struct update_args *want,
                          const char *id, struct update_rollout *ret, struct err *err)
{
    const int64_t deadline =
        want->fleet.has_timeout ? clock_after(clock_now(), want->fleet.timeout) : CLOCK_NEVER;
    const bool never = false;
    enum update_rollout_state shown = UPDATE_ROLLOUT_CREATED;
    int32_t batch = -1;

    (void)cli;
    while (read_rollout(fleet, id, ret, err) == 0) {
        if (ret->state != shown || ret->current_batch != batch)
            (void)fprintf(stderr, "%s, batch %d\n", update_rollout_state_name(ret->state),
                          (int)ret->current_batch + 1);
        shown = ret->state;
        batch = ret->current_batch;
        if (update_rollout_is_over(ret->state))
            return 0;
        if (clock_now() >= deadline)
            return err_set(err, ERR_TIMEOUT,
                           "rollout '%s' is still under way; 'zester update rollouts %s' shows it",
                           id, id);
        (void)fleet_wait(fleet, &never, LOOK_NS, err);
        if (fleet_is_over(fleet))
            return err_set(err, ERR_CANCELED, "the connection is lost; masters go on with '%s'",
                           id);
    }
    return -1;
}

/* --- rollout ---------------------------------------------------------------------------- */

static int read_batch(const char *text, struct update_plan *plan, struct err *err)
{
    const struct str all = str_from(text);
    const bool is_part = all.n > 0 && text[all.n - 1] == '%';
    uint64_t number;

    if (number_parse_uint(str_slice(all, 0, all.n - is_part), &number, err) < 0 || number == 0 ||
        number > (is_part ? 100 : 1000000))
        return err_set(err, ERR_INVALID,
                       "invalid batch '%s': expected a number of nodes, or 1%% to 100%%", text);
    if (is_part)
        plan->batch_percent = (int32_t)number;
    else
        plan->batch_size = (int32_t)number;
    return 0;
}

static int print_started(struct cli *cli, const struct update_args *want,
                         const struct update_started *started)
{
    const struct value result = record_value(cli->arena, &update_started_type, started);
    const struct value_list *batches =
        value_is(&started->batches, VALUE_LIST) ? started->batches.list : NULL;

    if (want->fleet.format != FLEET_TEXT)
        return fleet_print(cli, want->fleet.format, &result);
    if (!want->dry_run)
        printf("rollout %s started: ", started->id);
    printf("%d node%s in %zu batch%s\n", (int)started->nodes, started->nodes == 1 ? "" : "s",
           batches ? batches->count : 0, batches && batches->count == 1 ? "" : "es");
    for (size_t i = 0; want->dry_run && batches && i < batches->count; i++) {
        const struct value *batch = &batches->items[i];

        printf("%zu:", i + 1);
        for (size_t j = 0; value_is(batch, VALUE_LIST) && j < batch->list->count; j++)
            printf(" %s", peel_id_name(cli->arena, batch->list->items[j].s.p));
        printf("\n");
    }
    return CLI_OK;
}

static int start_rollout(struct cli *cli, struct fleet *fleet, const struct update_args *want,
                         const struct update_start *start, struct err *err)
{
    struct update_started started = { .error = "" };
    struct update_rollout rollout;

    if (ask_update_master(fleet, SUBJECT_UPDATE_START, &update_start_type, start,
                          &update_started_type, &started, err) < 0)
        return -1;
    if (started.error[0])
        return err_set(err, ERR_INVALID, "%s", started.error);
    if (!want->wait || want->dry_run)
        return print_started(cli, want, &started);
    if (want->fleet.format == FLEET_TEXT)
        (void)print_started(cli, want, &started);
    if (follow_rollout(cli, fleet, want, started.id, &rollout, err) < 0)
        return -1;
    (void)print_rollout(cli, want->fleet.format, &rollout);
    return rollout.state == UPDATE_ROLLOUT_COMPLETED ? CLI_OK : CLI_FAILED;
}

int update_run_rollout(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct update_args *want = args;
    struct update_start start = {
        .config = { .version = operands.p[0],
                    .component = want->component,
                    .target = operands.p[1],
                    .soak_time = want->soak,
                    .batch_pause = want->pause,
                    .max_failed = (int32_t)want->max_failed,
                    .dry_run = want->dry_run,
                    .rollout_id = want->id ? want->id : "" },
        .operator= fleet_user(cli->arena),
    };
    struct err err;
    int status;

    if (read_batch(want->batch, &start.config, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    if (fleet_attach(cli, &want->fleet) != CLI_OK)
        return CLI_ERROR;
    status = start_rollout(cli, cli->fleet, want, &start, &err);
    return status < 0 ? cli_err(cli, &err) : status;
}

/* --- rollouts --------------------------------------------------------------------------- */

struct listing {
    struct arena *arena;
    struct update_rollouts *rollouts;
};

static void on_rollout(void *self, const struct nats_kv_entry *entry)
{
    struct listing *listing = self;
    struct update_rollout rollout;
    struct err err;

    if (record_decode(listing->arena, &update_rollout_type, 1,
                      arena_str(listing->arena, entry->value), &rollout, &err) == 0)
        VEC_PUSH_IN(listing->arena, &listing->rollouts->list, rollout);
}

static int compare_rollouts(const void *a, const void *b)
{
    const struct update_rollout *left = a, *right = b;

    return time_is_later(left->started_at, right->started_at) ? -1 : 1;
}

int update_rollouts_read(struct fleet *fleet, struct update_rollouts *ret, struct err *err)
{
    struct listing listing = { fleet->arena, ret };

    *ret = (struct update_rollouts){ 0 };
    if (fleet_bucket_each(fleet, STORE_UPDATE_ROLLOUTS, NULL, on_rollout, &listing, err) < 0)
        return -1;
    if (ret->list.n > 0)
        qsort(ret->list.p, ret->list.n, sizeof(ret->list.p[0]), compare_rollouts);
    return 0;
}

static const char *print_batch(struct arena *arena, const void *record)
{
    const struct update_rollout *rollout = record;
    const size_t batches =
        value_is(&rollout->batches, VALUE_LIST) ? rollout->batches.list->count : 0;
    const size_t current = (size_t)rollout->current_batch;

    return arena_printf(arena, "%zu/%zu", current < batches ? current + 1 : batches, batches);
}

static const struct fleet_column rollout_columns[] = {
    FLEET_COLUMN("ID", "id"),
    FLEET_COLUMN("COMPONENT", "config.component"),
    FLEET_COLUMN("VERSION", "config.version"),
    FLEET_COLUMN("STATE", "state"),
    FLEET_COLUMN("BATCH", NULL, .cell = print_batch),
    FLEET_COLUMN("FAILED", "failed_count"),
    FLEET_COLUMN("STARTED", "started_at"),
};

int update_run_rollouts(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct update_args *want = args;
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, rollout_columns);
    struct update_rollouts rollouts = { 0 };
    struct update_rollout rollout;
    struct err err;

    if ((operands.n > 0 ? read_rollout(cli->fleet, operands.p[0], &rollout, &err)
                        : update_rollouts_read(cli->fleet, &rollouts, &err)) < 0)
        return cli_err(cli, &err);
    if (operands.n > 0)
        return print_rollout(cli, want->fleet.format, &rollout);
    VEC_EACH (&rollouts.list, item)
        fleet_list_add(&list, record_value(cli->arena, &update_rollout_type, item), item);
    return fleet_list_print(cli, want->fleet.format, &list);
}

/* --- abort ------------------------------------------------------------------------------ */

int update_run_abort(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct update_abort request = { operands.p[0], fleet_user(cli->arena) };
    struct update_aborted reply = { .error = "" };
    struct err err;

    (void)args;
    if (ask_update_master(cli->fleet, SUBJECT_UPDATE_ABORT, &update_abort_type, &request,
                          &update_aborted_type, &reply, &err) < 0)
        return cli_err(cli, &err);
    if (reply.error[0])
        return cli_error(cli, "%s", reply.error);
    printf("aborting %s\n", operands.p[0]);
    return CLI_OK;
}

/* --- nodes ------------------------------------------------------------------------------ */

struct update_nodes {
    struct arena *arena;
    VEC(struct update_node) list;
};

/* Identity is in the key: a peel can write its own only. */
static void on_node(void *self, const struct nats_kv_entry *entry)
{
    struct update_nodes *nodes = self;
    struct update_node node;
    struct err err;

    if (record_decode(nodes->arena, &update_node_type, 1, arena_str(nodes->arena, entry->value),
                      &node, &err) == 0 &&
        str_is(entry->key,
               arena_printf(nodes->arena, "%s.%s", update_component_name(node.component), node.id)))
        VEC_PUSH_IN(nodes->arena, &nodes->list, node);
}

static int compare_nodes(const void *a, const void *b)
{
    const struct update_node *left = a, *right = b;
    const int order = (int)left->component - (int)right->component;

    return order ? order : strcmp(left->id, right->id);
}

static const char *print_node_note(struct arena *arena, const void *record)
{
    const struct update_node *node = record;

    (void)arena;
    return node->degraded ? "degraded" : node->veto;
}

static const struct fleet_column node_columns[] = {
    FLEET_COLUMN("NODE", "id", .is_peel = true),
    FLEET_COLUMN("COMPONENT", "component"),
    FLEET_COLUMN("VERSION", "version"),
    FLEET_COLUMN("STATE", "state"),
    FLEET_COLUMN("NOTE", NULL, .cell = print_node_note),
};

int update_run_status(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct update_args *want = args;
    struct fleet_list list = FLEET_LIST_INIT(cli->arena, node_columns);
    struct update_nodes nodes = { .arena = cli->arena };
    struct err err;

    (void)operands;
    if (fleet_bucket_each(cli->fleet, STORE_UPDATE_STATUS, NULL, on_node, &nodes, &err) < 0)
        return cli_err(cli, &err);
    if (nodes.list.n > 0)
        qsort(nodes.list.p, nodes.list.n, sizeof(nodes.list.p[0]), compare_nodes);
    VEC_EACH (&nodes.list, node)
        fleet_list_add(&list, record_value(cli->arena, &update_node_type, node), node);
    return fleet_list_print(cli, want->fleet.format, &list);
}

/* --- rollback --------------------------------------------------------------------------- */

static int send_rollback(struct fleet *fleet, const struct update_args *want, const char *name,
                         struct update_response *ret, struct err *err)
{
    static const enum subject_kind kinds[UPDATE_COMPONENTS] = {
        [UPDATE_PEEL] = SUBJECT_UPDATE_PEEL, [UPDATE_MASTER] = SUBJECT_UPDATE_MASTER
    };
    const struct update_command command = { .verb = UPDATE_ROLLBACK,
                                            .component = want->component,
                                            .version = "",
                                            .sha256 = "",
                                            .object_key = "",
                                            .goos = "",
                                            .goarch = "",
                                            .key = "",
                                            .signature = "" };
    AUTO_BUF struct buf subject = BUF_INIT(SUBJECT_MAX), bytes = BUF_INIT(MESSAGE_MAX);
    char id[PEEL_ID_SIZE];
    struct str reply;

    if (peel_id_encode(str_from(name), id, err) < 0 ||
        subject_print(&subject, kinds[want->component],
                      &(struct subject_names){ .peel = str_from(id) }, err) < 0 ||
        record_encode(&bytes, &update_command_type, &command, err) < 0)
        return -1;
    if (fleet_request(
            fleet, &(struct nats_pub){ .subject = buf_view(&subject), .payload = buf_view(&bytes) },
            ANSWER_NS, &reply, err) < 0)
        return err->code == ERR_NOT_FOUND || err->code == ERR_TIMEOUT
                   ? err_set(err, err->code, "no watchdog of '%s' answered", name)
                   : -1;
    return record_decode(fleet->arena, &update_response_type, 1, reply, ret, err);
}

int update_run_rollback(struct cli *cli, const void *args, struct param_strs operands)
{
    const struct update_args *want = args;
    struct update_response response;
    struct err err;
    int result = send_rollback(cli->fleet, want, operands.p[0], &response, &err);

    if (result == 0 && strcmp(response.status, UPDATE_OK) != 0)
        result = err_set(&err, ERR_INVALID, "'%s': %s", operands.p[0], response.error);
    fleet_audit(
        cli, cli->fleet, AUDIT_UPDATE_ROLLBACK,
        arena_printf(cli->arena, "%s %s", update_component_name(want->component), operands.p[0]),
        result < 0 ? &err : NULL);
    if (result < 0)
        return cli_err(cli, &err);
    printf("%s: %s\n", operands.p[0],
           response.state == UPDATE_IDLE ? "nothing to roll back" : "rolling back");
    return CLI_OK;
}
