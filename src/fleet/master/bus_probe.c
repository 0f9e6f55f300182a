#include "fleet/master/bus_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "core/data/value.h"
#include "fleet/nats/conn.h"
#include "fleet/nats/consumer.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/stream.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

#define KEY "probe.%s"

/* It outlives the probe that made it. */
struct bus_probe_call {
    struct bus_probe *probe; /* NULL: it was stopped */
    int64_t sent, stored;    /* clock_now */
    unsigned items;          /* that were looked at */
    bool is_unheard;         /* nobody took the entry: is there a bucket? */
    char problem[ERR_TEXT_SIZE];
};

static void probe_bus(struct timer *timer);

static struct nats_kv get_probe_bucket(const struct bus_probe *probe)
{
    struct nats_kv kv = { .js = probe->js,
                          .bucket = store_bucket_name(STORE_LEASES),
                          .indirect = true };

    kv.js.timeout = BUS_PROBE_TIMEOUT_NS;
    return kv;
}

static void end_look(struct bus_probe_call *call, const char *problem, bool is_lost)
{
    struct bus_probe *probe = call->probe;

    free(call);
    if (!probe)
        return;
    probe->call = NULL;
    timer_set(loop_timers(nats_conn_loop(probe->js.conn)), &probe->timer,
              clock_after(clock_now(), BUS_PROBE_NS), probe_bus);
    probe->result(probe, problem, is_lost);
}

/* Is it another one than it was? All were there when the bus was prepared. */
static bool is_stream_replaced(struct bus_probe *probe, const struct nats_error *error,
                               const char *made)
{
    char *known = probe->made[probe->item];

    probe->item = (probe->item + 1) % BUS_PROBE_ITEMS;
    if (error)
        return error->code == NATS_JS_STREAM_NOT_FOUND || error->code == NATS_JS_CONSUMER_NOT_FOUND;
    if (known[0] && strcmp(known, made) != 0)
        return true;
    (void)snprintf(known, BUS_PROBE_MADE_SIZE, "%s", made);
    return false;
}

static void look_at_item(struct bus_probe_call *call);

/* The call ends before the text is used. */
static void end_unheard(struct bus_probe_call *call)
{
    char problem[ERR_TEXT_SIZE];

    (void)snprintf(problem, sizeof(problem), "%s", call->problem);
    end_look(call, problem, false);
}

static void end_item(struct bus_probe_call *call, const struct nats_error *error,
                     const struct value *reply)
{
    const char *made = reply ? value_get_text(reply, "created") : NULL;

    if (call->probe && is_stream_replaced(call->probe, error, made ? made : ""))
        end_look(call, NULL, true);
    else if (call->is_unheard)
        end_unheard(call);
    else if (error || !call->probe || ++call->items == BUS_PROBE_EACH)
        end_look(call, error ? error->text : NULL, false);
    else
        look_at_item(call);
}

static void on_probed_stream(void *self, const struct nats_error *error,
                             const struct nats_stream_info *info)
{
    end_item(self, error, info ? info->reply : NULL);
}

static void on_consumer(void *self, const struct nats_error *error,
                        const struct nats_consumer_info *info)
{
    end_item(self, error, info ? info->reply : NULL);
}

static int ask_for_item(struct bus_probe_call *call, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct nats_kv kv = get_probe_bucket(call->probe);
    const size_t number = call->probe->item;
    struct store_consumer consumer;

    if (number < STORE_STREAMS)
        return nats_stream_info(&kv.js, store_stream_name(&arena, number), on_probed_stream, call,
                                err);
    consumer = store_consumer(number - STORE_STREAMS);
    return nats_consumer_info(&kv.js, consumer.stream, consumer.name, on_consumer, call, err);
}

static void look_at_item(struct bus_probe_call *call)
{
    struct err err;

    if (ask_for_item(call, &err) < 0)
        end_look(call, err.text, false);
}

static void on_probe_read(void *self, const struct nats_error *error,
                          const struct nats_kv_entry *entry)
{
    struct bus_probe_call *call = self;

    if (error || !call->probe) {
        end_look(call, error ? error->text : NULL, false);
        return;
    }
    if (!entry->is_answer && entry->revision == call->probe->revision)
        bus_time_note(call->sent, call->stored, entry->time);
    look_at_item(call);
}

static void read_stamp(struct bus_probe_call *call)
{
    const struct nats_kv kv = get_probe_bucket(call->probe);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    call->stored = clock_now();
    if (nats_kv_get(&kv, arena_printf(&arena, KEY, call->probe->name), on_probe_read, call, &err) <
        0)
        end_look(call, err.text, false);
}

/* A bus that stores nothing for a while has it all the same. */
static void look_for_bucket(struct bus_probe_call *call, const char *problem)
{
    call->is_unheard = true;
    (void)snprintf(call->problem, sizeof(call->problem), "%s", problem);
    call->probe->item = store_bucket_stream(STORE_LEASES);
    look_at_item(call);
}

static void on_probe_written(void *self, const struct nats_error *error, uint64_t revision)
{
    struct bus_probe_call *call = self;
    struct bus_probe *probe = call->probe;
    uint64_t before;

    if (error && probe && error->fault == NATS_FAULT_NO_RESPONDERS) {
        look_for_bucket(call, error->text);
        return;
    }
    if (error || !probe) {
        end_look(call, error ? error->text : NULL, false);
        return;
    }
    before = probe->revision;
    probe->revision = revision;
    if (revision <= before)
        end_look(call, NULL, true);
    else
        read_stamp(call);
}

static void probe_bus(struct timer *timer)
{
    struct bus_probe *probe = container_of(timer, struct bus_probe, timer);
    const struct nats_kv kv = get_probe_bucket(probe);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct bus_probe_call *call = mem_zalloc(sizeof(*call));
    struct err err;

    *call = (struct bus_probe_call){ .probe = probe, .sent = clock_now() };
    probe->call = call;
    if (nats_kv_put(&kv, arena_printf(&arena, KEY, probe->name), STR("1"), on_probe_written, call,
                    &err) < 0)
        end_look(call, err.text, false);
}

void bus_probe_start(struct bus_probe *probe)
{
    probe->is_started = true;
    if (!probe->call)
        timer_set(loop_timers(nats_conn_loop(probe->js.conn)), &probe->timer, clock_now(),
                  probe_bus);
}

void bus_probe_stop(struct bus_probe *probe)
{
    if (!probe->is_started)
        return;
    probe->is_started = false;
    timer_clear(loop_timers(nats_conn_loop(probe->js.conn)), &probe->timer);
    if (probe->call)
        probe->call->probe = NULL;
    probe->call = NULL;
}
