/* Outcomes of events: one record each in the bucket, under the event's id. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/master/reactor/reactor_engine.h"
#include "fleet/nats/kv.h"
#include "core/sys/clock.h"

#define OUTCOME_BYTES_MAX ((size_t)1 << 20)

/* A record being stored. */
struct keeping {
    struct nats_kv kv;
    struct arena arena;
    char key[OUTCOME_KEY_SIZE];
    const char *origin; /* the event's key */
    struct str bytes;
    void (*fn)(void *self);
    void *self;
};

static void end_keeping(struct keeping *keeping, const char *problem)
{
    if (problem)
        log_warning("cannot store an outcome: %s", problem);
    if (keeping->fn)
        keeping->fn(keeping->self);
    arena_done(&keeping->arena);
    free(keeping);
}

static void on_outcome_stored(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    end_keeping(self, error && error->fault != NATS_FAULT_CANCELED ? error->text : NULL);
}

/* Senders choose event ids, and may have copied another's. */
static void on_earlier(void *self, const struct nats_error *error,
                       const struct nats_kv_entry *entry)
{
    struct keeping *keeping = self;
    struct outcome earlier;
    struct err err;

    if (error && error->fault != NATS_FAULT_NOT_FOUND)
        on_outcome_stored(keeping, error, 0);
    else if (entry &&
             record_decode(&keeping->arena, &outcome_type, 0, entry->value, &earlier, &err) == 0 &&
             strcmp(earlier.key, keeping->origin) != 0)
        end_keeping(keeping, arena_printf(&keeping->arena, "%s uses the id of an event of %s",
                                          keeping->origin, earlier.key));
    else if (nats_kv_put(&keeping->kv, keeping->key, keeping->bytes, on_outcome_stored, keeping,
                         &err) < 0)
        end_keeping(keeping, err.text);
}

static void on_outcome_created(void *self, const struct nats_error *error, uint64_t revision)
{
    struct keeping *keeping = self;
    struct err err;

    if (!error || error->fault != NATS_FAULT_CONFLICT)
        on_outcome_stored(keeping, error, revision);
    else if (nats_kv_get(&keeping->kv, keeping->key, on_earlier, keeping, &err) < 0)
        end_keeping(keeping, err.text);
}

void reactor_keep_outcome(struct reactor_engine *engine, const struct outcome *outcome,
                          void (*fn)(void *self), void *self)
{
    AUTO_BUF struct buf bytes = BUF_INIT(OUTCOME_BYTES_MAX);
    struct keeping *keeping = mem_zalloc(sizeof(*keeping));
    const int64_t now = bus_time();
    struct outcome whole = *outcome;
    struct err err;

    *keeping = (struct keeping){ .kv = { .js = engine->master->js,
                                         .bucket = store_bucket_name(STORE_EVENT_OUTCOMES),
                                         .indirect = true },
                                 .fn = fn,
                                 .self = self };
    keeping->origin = arena_strdup(&keeping->arena, outcome->key);
    whole.master = engine->master->id;
    whole.ts = (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
    outcome_key(outcome->id, keeping->key);
    if (record_encode(&bytes, &outcome_type, &whole, &err) < 0) {
        end_keeping(keeping, err.text);
        return;
    }
    keeping->bytes = buf_copy(&bytes, &keeping->arena);
    if (nats_kv_create(&keeping->kv, keeping->key, keeping->bytes, on_outcome_created, keeping,
                       &err) < 0)
        end_keeping(keeping, err.text);
}

void reactor_note_event(struct reactor_engine *engine, const struct pipeline_delivery *delivery,
                        const struct pipeline_verdict *verdict)
{
    const struct event_gate_event *event = verdict->event;
    const struct outcome outcome = {
        .id = event->event.id,
        .outcome = verdict->drop == EVENT_GATE_PASS ? OUTCOME_UNMATCHED : OUTCOME_DROPPED,
        .reason = event_gate_drop_name(verdict->drop),
        .key = event->source.key ? event->source.key : "",
        .depth = event->event.depth,
        .provenance = event->event.origin ? event->event.origin : "",
        .parent = delivery->parent ? delivery->parent : "",
        .deliveries = (int32_t)delivery->number,
        .seq = delivery->seq,
    };

    if (!event->event.id || event->event.id[0] == '\0' || event_gate_is_lifecycle(&event->source))
        return; /* never queried, and as many as jobs */
    if (rate_take(&engine->notes, STR("all"), clock_now()) == 0)
        reactor_keep_outcome(engine, &outcome, NULL, NULL);
}

/* False when it only logged a line (with the event's id), or was stopped by a guard. */
static bool has_outcome_acted(const struct outcome *outcome)
{
    VEC_EACH (&outcome->rules.list, rule) {
        if (rule->message[0] || rule->result == OUTCOME_ERROR)
            return true;
        VEC_EACH (&rule->blocks.list, block)
            if (strcmp(block->action, "log") != 0)
                return true;
    }
    return false;
}

void reactor_note_end(struct reactor_engine *engine, const struct outcome *outcome)
{
    if (has_outcome_acted(outcome) || rate_take(&engine->notes, STR("all"), clock_now()) == 0)
        reactor_keep_outcome(engine, outcome, NULL, NULL);
}
