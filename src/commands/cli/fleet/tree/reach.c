#include "commands/cli/fleet/tree/reach.h"

#include <stdio.h>

#include "commands/cli/shared/columns.h"
#include "commands/cli/shared/command.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/view/trees.h"

/* How often it is checked whether all have them: heartbeats come one by one. */
#define LOOK_NS (100 * CLOCK_MS)

struct reach {
    struct fleet *fleet;
    struct fleet_reach state;
    struct nats_kv_watch *watches[2];
    size_t caught_up;
    struct timer timer;
    bool is_done, has_failed;
    struct nats_error error;
};

static void on_reach_peel(void *self, const struct nats_kv_entry *entry)
{
    fleet_reach_take_peel(&((struct reach *)self)->state, entry);
}

static void on_reach_master(void *self, const struct nats_kv_entry *entry)
{
    fleet_reach_take_master(&((struct reach *)self)->state, entry);
}

static void on_reach_caught_up(void *self)
{
    ((struct reach *)self)->caught_up++;
}

static void on_reach_failed(void *self, const struct nats_error *error)
{
    struct reach *reach = self;

    if (error->fault == NATS_FAULT_CANCELED)
        return;
    reach->error = *error;
    reach->is_done = reach->has_failed = true;
}

static void on_reach_look(struct timer *timer)
{
    struct reach *reach = container_of(timer, struct reach, timer);

    if (reach->caught_up == ARRAY_LEN(reach->watches) &&
        fleet_reach_is_settled(&reach->state, bus_time()))
        reach->is_done = true;
    timer_set(loop_timers(reach->fleet->loop), timer, clock_after(clock_now(), LOOK_NS),
              on_reach_look);
}

static int open_watches(struct reach *reach, struct err *err)
{
    static const struct {
        enum store_bucket bucket;
        void (*entry)(void *self, const struct nats_kv_entry *entry);
    } buckets[] = { { STORE_MASTER_HEARTBEAT, on_reach_master },
                    { STORE_PEEL_HEARTBEAT, on_reach_peel } };

    for (size_t i = 0; i < ARRAY_LEN(buckets); i++) {
        const struct nats_kv kv = { .js = reach->fleet->js,
                                    .bucket = store_bucket_name(buckets[i].bucket) };

        reach->watches[i] =
            nats_kv_watch_new(&kv,
                              &(struct nats_kv_watch_options){ .entry = buckets[i].entry,
                                                               .caught_up = on_reach_caught_up,
                                                               .failed = on_reach_failed,
                                                               .self = reach },
                              err);
        if (!reach->watches[i])
            return -1;
    }
    return 0;
}

/* Past the time limit, what is missing is shown. */
static int watch_reach(struct reach *reach, int64_t timeout, struct err *err)
{
    struct err late;
    int result = open_watches(reach, err);

    if (result == 0) {
        on_reach_look(&reach->timer);
        (void)fleet_wait(reach->fleet, &reach->is_done, timeout, &late);
        timer_clear(loop_timers(reach->fleet->loop), &reach->timer);
    }
    for (size_t i = 0; i < ARRAY_LEN(reach->watches); i++)
        nats_kv_watch_free(reach->watches[i]);
    if (result == 0 && reach->has_failed)
        result = nats_error_to_err(&reach->error, err);
    else if (result == 0 && reach->caught_up < ARRAY_LEN(reach->watches))
        result = err_set(err, ERR_TIMEOUT, "heartbeats cannot be read in time");
    return result;
}

/* --- what is shown ---------------------------------------------------------------------- */

static void print_share(struct buf *out, size_t with, size_t all, const char *what)
{
    if (with == all)
        buf_printf(out, "%zu %s%s", all, what, all == 1 ? "" : "s");
    else
        buf_printf(out, "%zu of %zu %ss", with, all, what);
}

static void print_reach(const struct fleet_reach_result *result)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const size_t with = result->masters_with + result->peels_with;

    print_share(&out, result->masters_with, result->masters, "master");
    buf_add_text(&out, " and ");
    print_share(&out, result->peels_with, result->peels, "online peel");
    buf_printf(&out, " %s what is published", with == 1 ? "has" : "have");
    VEC_EACH (&result->missing, one) {
        const size_t place = (size_t)(one - result->missing.p);

        if (place == REACH_NAMED)
            break;
        buf_printf(&out, "%s %s (", place == 0 ? "; missing:" : ",", one->name);
        columns_print_text(&out, one->why);
        buf_add_char(&out, ')');
    }
    if (result->missing.n > REACH_NAMED)
        buf_printf(&out, " and %zu more", result->missing.n - REACH_NAMED);
    (void)printf("%s\n", buf_text(&out));
}

static struct value describe_reach(struct arena *arena, const struct fleet_reach_result *result)
{
    struct value_map *map = value_map_new(arena, 5);
    struct value_list *missing = value_list_new(arena, result->missing.n);

    VEC_EACH (&result->missing, one) {
        struct value_map *row = value_map_new(arena, 2);

        value_map_set(arena, row, value_text(one->is_master ? "master" : "peel"),
                      value_text(one->name));
        value_map_set(arena, row, value_text("why"), value_text(one->why));
        value_list_push(arena, missing, value_map(row));
    }
    value_map_set(arena, map, value_text("masters"), value_int((int64_t)result->masters));
    value_map_set(arena, map, value_text("masters_with"), value_int((int64_t)result->masters_with));
    value_map_set(arena, map, value_text("peels"), value_int((int64_t)result->peels));
    value_map_set(arena, map, value_text("peels_with"), value_int((int64_t)result->peels_with));
    value_map_set(arena, map, value_text("missing"), value_list(missing));
    return value_map(map);
}

int reach_await(struct cli *cli, const struct reach_options *options, const struct value *trees,
                struct value *reply)
{
    const struct fleet_options *fleet = options->fleet;
    struct reach reach = { .fleet = cli->fleet };
    struct fleet_reach_result result;
    struct liveness_trees wanted;
    struct err err;

    if (options->no_wait || trees->kind != VALUE_MAP)
        return CLI_OK;
    liveness_read_trees(cli->arena, trees, &wanted);
    fleet_reach_init(&reach.state, cli->arena, &wanted);
    if (watch_reach(&reach, fleet->has_timeout ? fleet->timeout : REACH_NS, &err) < 0) {
        (void)cli_error(cli, "published, but it is not known who has it: %s", err.text);
        return CLI_FAILED;
    }
    fleet_reach_count(&reach.state, bus_time(), &result);
    if (reply)
        value_map_set(cli->arena, reply->map, value_text("reach"),
                      describe_reach(cli->arena, &result));
    else
        print_reach(&result);
    return result.missing.n > 0 ? CLI_FAILED : CLI_OK;
}
