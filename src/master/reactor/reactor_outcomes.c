/* What became of events: a record in the bucket for each, under the event's id. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/sha256.h"
#include "bus/store.h"
#include "master/reactor/reactor_engine.h"
#include "nats/kv.h"
#include "sys/clock.h"

#define OUTCOME_BYTES_MAX ((size_t)1 << 20)

struct keeping {
    void (*fn)(void *self);
    void *self;
};

static void on_kept(void *self, const struct nats_error *error, uint64_t revision)
{
    struct keeping *keeping = self;

    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_warning("an outcome was not kept: %s", error->text);
    if (keeping->fn)
        keeping->fn(keeping->self);
    free(keeping);
}

void reactor_keep_outcome(struct reactor_engine *engine, const struct outcome *outcome,
                          void (*fn)(void *self), void *self)
{
    const struct nats_kv kv = { .js = engine->master->js,
                                .bucket = store_bucket_name(STORE_EVENT_OUTCOMES) };
    AUTO_BUF struct buf bytes = BUF_INIT(OUTCOME_BYTES_MAX);
    struct keeping *keeping = mem_zalloc(sizeof(*keeping));
    const int64_t now = clock_wall();
    struct outcome whole = *outcome;
    char key[OUTCOME_KEY_SIZE];
    struct err err;

    *keeping = (struct keeping){ fn, self };
    whole.master = engine->master->id;
    whole.ts = (struct value_time){ now / CLOCK_SECOND, (uint32_t)(now % CLOCK_SECOND) };
    outcome_key(outcome->id, key);
    if (record_encode(&bytes, &outcome_type, &whole, &err) == 0 &&
        nats_kv_put(&kv, key, buf_view(&bytes), on_kept, keeping, &err) == 0)
        return;
    log_warning("an outcome was not kept: %s", err.text);
    on_kept(keeping, NULL, 0);
}

void reactor_note_event(struct reactor_engine *engine, const struct pipeline_delivery *delivery,
                        const struct pipeline_verdict *verdict)
{
    const struct gate_event *event = verdict->event;
    const struct outcome outcome = {
        .id = event->event.id,
        .outcome = verdict->drop == GATE_PASS ? OUTCOME_UNMATCHED : OUTCOME_DROPPED,
        .reason = gate_drop_name(verdict->drop),
        .key = event->source.key ? event->source.key : "",
        .depth = event->event.depth,
        .provenance = event->event.origin ? event->event.origin : "",
        .parent = delivery->parent ? delivery->parent : "",
        .deliveries = (int32_t)delivery->number,
        .seq = delivery->seq,
    };

    if (!event->event.id || event->event.id[0] == '\0' || gate_is_lifecycle(&event->source))
        return; /* nobody could ask for it, or would: there are as many as jobs */
    if (rate_take(&engine->notes, STR("all"), clock_now()) == 0)
        reactor_keep_outcome(engine, &outcome, NULL, NULL);
}

/* Not when it only wrote a line, which has the event's id, or was stopped by a guard. */
static bool has_acted(const struct outcome *outcome)
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
    if (has_acted(outcome) || rate_take(&engine->notes, STR("all"), clock_now()) == 0)
        reactor_keep_outcome(engine, outcome, NULL, NULL);
}
