/* The service "reactor": runs the fleet's rules on events of the stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/master/enroll/authority.h"
#include "fleet/master/enroll/enrollment_cache.h"
#include "fleet/master/reactor/reactor_engine.h"
#include "fleet/master/peels/roster.h"
#include "fleet/master/reactor/rule_watch.h"
#include "fleet/master/services.h"
#include "fleet/nats/ack.h"
#include "fleet/nats/consumer.h"
#include "fleet/nats/header.h"
#include "fleet/nats/publisher.h"
#include "fleet/nats/puller.h"
#include "fleet/reactor/rule_set.h"
#include "core/sys/clock.h"
#include "core/sys/crash_point.h"
#include "core/sys/loop.h"

#define BEGIN_NS   (200 * CLOCK_MS)
#define GIVE_UP_NS (10 * CLOCK_SECOND)
/* Limit for outcomes of events without action, per minute. */
#define NOTES_BURST  1000
#define NOTES_MINUTE 6000

int64_t reactor_monotonic(void *user)
{
    (void)user;
    return clock_now();
}

int64_t reactor_wall(void *user)
{
    (void)user;
    return bus_time();
}

bool reactor_is_stopping(void *user)
{
    return ((struct reactor_engine *)user)->is_stopping;
}

/* A copy: a worker reads it while the roster changes. */
const struct value *reactor_facts(void *user, struct arena *arena, const char *peel)
{
    const struct reactor_engine *engine = user;
    const struct roster *roster = master_roster(engine->master);
    const struct value *facts = roster ? roster_facts(roster, str_from(peel)) : NULL;
    struct value *copy;

    if (!facts)
        return NULL;
    copy = ARENA_NEW(arena, struct value);
    *copy = value_copy(arena, facts);
    return copy;
}

/* Events of a revoked peel are ignored, even earlier ones. */
static bool is_event_source_revoked(void *user, const char *peel)
{
    const struct reactor_engine *engine = user;

    return enrollment_cache_is_revoked(master_find(engine->master, &enrollment_cache_service),
                                       str_from(peel));
}

/* --- deliveries ---------------------------------------------------------------------- */

static struct reactor_delivery *add_delivery(struct reactor_engine *engine,
                                             struct reaction_run *reaction_run, struct str reply)
{
    struct reactor_delivery *delivery = mem_zalloc(sizeof(*delivery) + reply.n);

    memcpy(delivery->bytes, reply.p, reply.n);
    delivery->engine = engine;
    delivery->reaction_run = reaction_run;
    delivery->reply = (struct str){ delivery->bytes, reply.n };
    delivery->previous = engine->last;
    *(engine->last ? &engine->last->next : &engine->first) = delivery;
    engine->last = delivery;
    return delivery;
}

static void free_delivery(struct reactor_delivery *delivery)
{
    struct reactor_engine *engine = delivery->engine;

    *(delivery->previous ? &delivery->previous->next : &engine->first) = delivery->next;
    *(delivery->next ? &delivery->next->previous : &engine->last) = delivery->previous;
    free(delivery);
}

/* Makes room for the next message. */
static void count_done(struct reactor_engine *engine)
{
    if (engine->puller)
        nats_puller_done(engine->puller, 1);
}

void reactor_leave_room(struct reactor_delivery *delivery)
{
    if (delivery->has_left_room)
        return;
    delivery->has_left_room = true;
    count_done(delivery->engine);
}

static void end_delivery(struct reactor_delivery *delivery)
{
    reactor_leave_room(delivery);
    free_delivery(delivery);
}

static void acknowledge_event(struct reactor_engine *engine, struct str reply, uint64_t seq)
{
    struct err err;

    if (nats_ack(engine->master->js.conn, reply, &err) < 0)
        log_warning("cannot acknowledge an event, it will be redelivered: %s", err.text);
    else if (seq > 0)
        reactor_note_ack(engine, seq);
}

/* --- the end of a delivery ----------------------------------------------------------- */

static void count_outcome_results(struct reactor_engine *engine, const struct outcome *outcome)
{
    struct metrics *metrics = engine->master->metrics;

    VEC_EACH (&outcome->rules.list, rule) {
        VEC_EACH (&rule->blocks.list, block)
            metrics_add(metrics, MASTER_REACTIONS, 1, rule->rule,
                        outcome_result_name(block->result));
        if (rule->blocks.list.n == 0 && rule->result != OUTCOME_EMPTY)
            metrics_add(metrics, MASTER_REACTIONS, 1, rule->rule,
                        outcome_result_name(rule->result));
    }
}

static void log_results(const struct outcome *outcome)
{
    VEC_EACH (&outcome->rules.list, rule) {
        if (rule->message[0])
            log_warning("reaction %s: %s event_id=%s key=%s error=%s",
                        outcome_result_name(rule->result), rule->rule, outcome->id, outcome->key,
                        rule->message);
        VEC_EACH (&rule->blocks.list, block)
            if (block->message[0])
                log_warning("reaction %s: %s block=%s event_id=%s key=%s error=%s",
                            outcome_result_name(block->result), rule->rule, block->block,
                            outcome->id, outcome->key, block->message);
    }
}

/* The last delivery is recorded before it is acknowledged. */
static void on_last_kept(void *self)
{
    struct reactor_delivery *delivery = self;
    struct reactor_engine *engine = delivery->engine;

    if (engine->is_stopping) {
        free_delivery(delivery);
        return;
    }
    acknowledge_event(engine, delivery->reply, delivery->seq);
    end_delivery(delivery);
}

static void on_reaction_end(void *user, struct reaction_run *reaction_run,
                            const struct reaction_run_end *end)
{
    struct reactor_engine *engine = user;
    struct reactor_delivery *delivery = reaction_run_message(reaction_run);
    struct err err;

    delivery->reaction_run = NULL;
    if (engine->is_stopping) {
        if (engine->is_parting) /* another master gets it now, otherwise after ack_wait */
            (void)nats_nak(engine->master->js.conn, delivery->reply, 0, &err);
        free_delivery(delivery);
        return;
    }
    count_outcome_results(engine, end->outcome);
    log_results(end->outcome);
    if (end->verdict == REACTION_RUN_EXHAUSTED) {
        reactor_give_up(engine, end->outcome, on_last_kept, delivery);
        return;
    }
    crash_point("event-decided");
    if (delivery->is_last) {
        reactor_keep_outcome(engine, end->outcome, on_last_kept, delivery);
        return;
    }
    if (end->verdict == REACTION_RUN_ACK || !delivery->is_again) /* otherwise it stays given up */
        reactor_note_end(engine, end->outcome);
    if (end->verdict == REACTION_RUN_ACK)
        acknowledge_event(engine, delivery->reply, delivery->seq);
    else if (nats_nak(engine->master->js.conn, delivery->reply, PIPELINE_NAK_NS, &err) < 0)
        log_warning("cannot return an event: %s", err.text);
    crash_point("event-acknowledged");
    end_delivery(delivery);
}

static void on_breaker_opened(void *user, const char *rule)
{
    struct reactor_engine *engine = user;

    log_warning("breaker is open: %s fired more than %lld times in a minute", rule,
                (long long)engine->pipeline.options.storm_rate);
    metrics_set(engine->master->metrics, MASTER_REACTOR_BREAKER, 1, rule, NULL);
}

static const struct pipeline_effects effects = {
    .render = reactor_render,
    .dispatch = reactor_dispatch,
    .enroll = reactor_enroll,
    .send = reactor_send,
    .await = reactor_await,
    .log = reactor_log,
    .opened = on_breaker_opened,
    .end = on_reaction_end,
    .facts = reactor_facts,
    .monotonic = reactor_monotonic,
    .wall = reactor_wall,
};

/* --- messages ------------------------------------------------------------------------ */

static void note_drop(struct reactor_engine *engine, const struct pipeline_verdict *verdict)
{
    const struct event_gate_event *event = verdict->event;

    metrics_add(engine->master->metrics, MASTER_REACTOR_DROPPED, 1,
                event_gate_drop_name(verdict->drop), NULL);
    if (verdict->drop == EVENT_GATE_STALE)
        log_warning("event is too old and was dropped id=%s key=%s", event->event.id,
                    event->source.key);
    else
        log_debug("event was dropped reason=%s key=%s", event_gate_drop_name(verdict->drop),
                  event->source.key ? event->source.key : "");
}

/* An event without a reaction run is done. */
static void skip_event(struct reactor_engine *engine, const struct pipeline_delivery *received,
                       const struct pipeline_verdict *verdict, struct str reply)
{
    if (verdict->drop != EVENT_GATE_PASS)
        note_drop(engine, verdict);
    else
        metrics_add(engine->master->metrics, MASTER_REACTOR_UNMATCHED, 1, NULL, NULL);
    reactor_note_event(engine, received, verdict);
    acknowledge_event(engine, reply, received->seq);
    count_done(engine);
}

static void on_last_recorded(void *self)
{
    struct reactor_delivery *delivery = self;

    if (delivery->engine->is_stopping) {
        reaction_run_cancel(delivery->reaction_run);
        free_delivery(delivery);
        return;
    }
    reaction_run_begin(delivery->reaction_run);
}

/* The server reports a given-up event once; without a stream leader the report is lost. So the
 * outcome is recorded before the last attempt begins. */
static void record_last(struct reactor_delivery *delivery, const struct pipeline_delivery *received,
                        const struct event_gate_event *event)
{
    const struct outcome outcome = {
        .id = event->event.id,
        .outcome = OUTCOME_EXHAUSTED,
        .reason = OUTCOME_LAST_DELIVERY,
        .key = event->source.key,
        .depth = event->event.depth,
        .provenance = event->event.origin ? event->event.origin : "",
        .parent = received->parent ? received->parent : "",
        .deliveries = (int32_t)received->number,
        .seq = received->seq,
    };

    delivery->is_last = true;
    reactor_keep_outcome(delivery->engine, &outcome, on_last_recorded, delivery);
}

static void on_reactor_event(void *self, const struct nats_msg *msg)
{
    struct reactor_engine *engine = self;
    struct pipeline_delivery received = {
        .subject = msg->subject,
        .payload = msg->payload.p ? msg->payload : STR(""),
        .number = 1,
    };
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct nats_delivery from;
    struct pipeline_verdict verdict;
    struct reactor_delivery *delivery;
    struct str parent, again;

    crash_point("event-fetched");
    if (nats_delivery_parse(msg->reply, &from)) {
        received.number = from.deliveries < PIPELINE_DELIVERIES_MAX ? (unsigned)from.deliveries
                                                                    : PIPELINE_DELIVERIES_MAX;
        received.seq = from.stream_seq;
    }
    if (msg->header.n > 0 && nats_header_find(msg->header, REACTOR_PARENT_HEADER, &parent) &&
        parent.n <= EVENT_GATE_ID_MAX)
        received.parent = arena_str(&arena, parent).p;
    pipeline_accept(&engine->pipeline, &received, &verdict);
    if (verdict.event->source.key)
        metrics_add(engine->master->metrics, MASTER_REACTOR_EVENTS, 1,
                    event_origin_name(verdict.event->source.type), NULL);
    if (!verdict.reaction_run) {
        skip_event(engine, &received, &verdict, msg->reply);
        return;
    }
    delivery = add_delivery(engine, verdict.reaction_run, msg->reply);
    delivery->seq = received.seq;
    delivery->is_small = received.payload.n <= REACTOR_QUICK_MAX;
    delivery->is_again =
        msg->header.n > 0 && nats_header_find(msg->header, REACTOR_AGAIN_HEADER, &again);
    reaction_run_attach(verdict.reaction_run, delivery);
    if (received.number == PIPELINE_DELIVERIES_MAX)
        record_last(delivery, &received, verdict.event);
    else
        reaction_run_begin(verdict.reaction_run);
}

static void on_reactor_trouble(void *self, const struct nats_error *error)
{
    (void)self;
    if (error->fault != NATS_FAULT_CANCELED)
        log_warning("events are not delivered: %s", error->text);
}

static void begin_event_pull(struct timer *timer);

/* The consumer is gone: masters create it at their start, so start again. */
static void on_reactor_pull_failed(void *self, const struct nats_error *error)
{
    struct reactor_engine *engine = self;

    if (error->fault == NATS_FAULT_CANCELED)
        return;
    log_error("events cannot be delivered: %s", error->text);
    nats_puller_free(engine->puller);
    engine->puller = NULL;
    timer_set(loop_timers(engine->master->loop), &engine->begin,
              clock_after(clock_now(), MASTER_RETRY_NS), begin_event_pull);
}

/* No event is pulled before rules, facts and enrollments are loaded. */
static void begin_event_pull(struct timer *timer)
{
    struct reactor_engine *engine = container_of(timer, struct reactor_engine, begin);
    const size_t held = (size_t)engine->master->conf.reactor_workers * REACTOR_HELD_EACH;
    const struct nats_puller_options options = {
        .stream = STORE_EVENTS,
        .consumer = STORE_REACTOR,
        .batch = held < REACTOR_HELD_MAX ? held : REACTOR_HELD_MAX,
        .is_busy = true,
        .message = on_reactor_event,
        .trouble = on_reactor_trouble,
        .failed = on_reactor_pull_failed,
        .self = engine,
    };
    const struct roster *roster = master_roster(engine->master);
    struct err err;

    if (engine->has_rules && roster && roster_is_seeded(roster) &&
        enrollment_cache_is_complete(master_find(engine->master, &enrollment_cache_service))) {
        engine->puller = nats_puller_new(&engine->master->js, &options, &err);
        if (engine->puller) {
            log_info("reactor has begun rules=%zu", engine->pipeline.rules->rules.n);
            return;
        }
        log_error("events cannot be delivered: %s", err.text);
    }
    timer_set(loop_timers(engine->master->loop), &engine->begin, clock_after(clock_now(), BEGIN_NS),
              begin_event_pull);
}

/* --- rules --------------------------------------------------------------------------- */

static void on_rules(void *self, struct rule_set *rules, const struct diags *lints)
{
    struct reactor_engine *engine = self;

    pipeline_use(&engine->pipeline, rules);
    engine->slow.n = 0;
    engine->has_rules = true;
    engine->problem[0] = '\0';
    tree_board_note(&engine->master->trees, TREE_BOARD_LOADER, "");
    tree_board_put(&engine->master->trees, TREE_BOARD_RULES, rule_watch_manifest(engine->rules));
    metrics_set(engine->master->metrics, MASTER_REACTOR_RULES, (double)rules->rules.n, NULL, NULL);
    log_info("rules loaded rules=%zu entries=%zu", rules->rules.n, rules->entries.n);
    VEC_EACH (&lints->list, lint)
        log_warning("%s:%u: %s", lint->at.file ? lint->at.file : "", lint->at.line, lint->text);
}

void master_expect_no_rules(const struct master *master)
{
    const struct reactor_engine *engine = master_find(master, &master_reactor_service);

    rule_watch_expect_none(engine->rules);
}

static void on_rules_failed(void *self, const char *text)
{
    struct reactor_engine *engine = self;

    (void)snprintf(engine->problem, sizeof(engine->problem), "rules were not loaded: %s", text);
    tree_board_note(&engine->master->trees, TREE_BOARD_LOADER, engine->problem);
    metrics_add(engine->master->metrics, MASTER_REACTOR_RULE_ERRORS, 1, NULL, NULL);
    log_error("rules were not loaded, keeping the old ones: %s", text);
}

/* --- every 15 seconds ---------------------------------------------------------------- */

static void on_reactor_lag(void *self, const struct nats_error *error,
                           const struct nats_consumer_info *info)
{
    struct reactor_engine *engine = self;

    (void)error;
    if (!info)
        return;
    metrics_set(engine->master->metrics, MASTER_REACTOR_LAG, (double)info->pending, NULL, NULL);
    reactor_note_look(engine, info);
}

static void show_breaker(void *user, struct str rule, bool is_open)
{
    struct reactor_engine *engine = user;

    metrics_set(engine->master->metrics, MASTER_REACTOR_BREAKER, is_open ? 1 : 0, rule.p, NULL);
}

static void on_reactor_tick(struct timer *timer)
{
    struct reactor_engine *engine = container_of(timer, struct reactor_engine, tick);
    struct err err;

    if (breaker_sweep(&engine->pipeline.breaker, clock_now()))
        log_info("breaker is closed again");
    breaker_each(&engine->pipeline.breaker, show_breaker, engine);
    for (struct reactor_delivery *delivery = engine->first; delivery; delivery = delivery->next)
        (void)nats_ack_progress(engine->master->js.conn, delivery->reply, &err);
    (void)nats_consumer_info(&engine->master->js, STORE_EVENTS, STORE_REACTOR, on_reactor_lag,
                             engine, &err);
    timer_set(loop_timers(engine->master->loop), &engine->tick,
              clock_after(clock_now(), REACTOR_TICK_NS), on_reactor_tick);
}

/* --- life ---------------------------------------------------------------------------- */

static void *open_engine(struct master *master, struct err *err)
{
    struct reactor_engine *engine = mem_zalloc(sizeof(*engine));

    (void)err;
    engine->master = master;
    engine->queue = &engine->queued;
    return engine;
}

static void init_pipeline(struct reactor_engine *engine)
{
    const struct master_conf *conf = &engine->master->conf;
    const struct pipeline_options options = {
        .event_gate = { .max_chain_depth = conf->reactor_max_depth,
                        .source_rate = conf->reactor_source_rate,
                        .max_event_age = conf->reactor_max_age,
                        .is_revoked = is_event_source_revoked,
                        .user = engine },
        .enable_chaining = conf->reactor_chaining,
        .default_throttle = conf->reactor_throttle,
        .storm_rate = conf->reactor_storm_rate,
        .breaker_cooldown = conf->reactor_cooldown,
    };

    pipeline_init(&engine->pipeline, &options, &effects, engine);
    rate_init_for(&engine->notes, NOTES_BURST, NOTES_MINUTE, 1);
}

/* Written in the loop: a crash loses at most the last update. */
static struct tree_trust trust_rules(struct reactor_engine *engine)
{
    struct tree_trust trust = authority_trust(engine->master, "reactor");

    trust.sync = FS_NO_SYNC;
    return trust;
}

static int begin_parts(struct reactor_engine *engine, struct err *err)
{
    const struct rule_watch_options rules = {
        .js = engine->master->js,
        .loop = engine->master->loop,
        .trust = trust_rules(engine),
        .loaded = on_rules,
        .failed = on_rules_failed,
        .self = engine,
    };

    engine->publisher = nats_publisher_new(
        &engine->master->js, &(struct nats_publisher_options){ .give_up = GIVE_UP_NS });
    engine->rules = rule_watch_new(&rules, err);
    if (!engine->rules || reactor_serve_tests(engine, err) < 0 ||
        reactor_watch_exhausted(engine, err) < 0)
        return -1;
    return 0;
}

static void end_parts(struct reactor_engine *engine)
{
    timer_clear(loop_timers(engine->master->loop), &engine->begin);
    timer_clear(loop_timers(engine->master->loop), &engine->tick);
    reactor_end_audit(engine);
    nats_puller_free(engine->puller);
    engine->puller = NULL;
    nats_sub_free(engine->tests);
    engine->tests = NULL;
    reactor_leave_exhausted(engine);
    rule_watch_free(engine->rules);
    engine->rules = NULL;
}

/* The server still holds our pull requests, and discovers that no one listens when it delivers one;
 * a returned message is then lost to others until ack_wait (2.9). A query of the consumer makes it
 * check its requests. */
static void forget_requests(struct reactor_engine *engine)
{
    struct err err;

    (void)nats_consumer_info(&engine->master->js, STORE_EVENTS, STORE_REACTOR, on_reactor_lag,
                             engine, &err);
}

static void stop_engine(void *self)
{
    struct reactor_engine *engine = self;

    if (!engine->is_on)
        return;
    engine->is_stopping = engine->is_parting = true;
    end_parts(engine);
    forget_requests(engine);
    reactor_end_waits(engine);
    reactor_end_renderings(engine);
    nats_publisher_free(engine->publisher); /* pending publishes are answered */
    engine->publisher = NULL;
    engine->is_parting = false;
}

static int start_engine(void *self, struct err *err)
{
    struct reactor_engine *engine = self;

    engine->is_on = engine->master->conf.reactor_enabled;
    tree_board_name(&engine->master->trees, TREE_BOARD_RULES,
                    engine->is_on ? "" : LIVENESS_RULES_OFF);
    if (!engine->is_on)
        return 0;
    if (background_tasks_open_workers(&engine->background_tasks, engine->master->loop,
                                      (unsigned)engine->master->conf.reactor_workers, err) < 0)
        return -1;
    init_pipeline(engine);
    reactor_open_renderings(engine);
    if (begin_parts(engine, err) < 0) {
        end_parts(engine);
        background_tasks_close(&engine->background_tasks);
        nats_publisher_free(engine->publisher);
        reactor_free_renderings(engine);
        pipeline_done(&engine->pipeline);
        rate_done(&engine->notes);
        return -1;
    }
    reactor_begin_audit(engine);
    begin_event_pull(&engine->begin);
    on_reactor_tick(&engine->tick);
    return 0;
}

/* All pending calls have ended. */
static void free_reactor_engine(void *self)
{
    struct reactor_engine *engine = self;

    for (struct reactor_delivery *delivery = engine->first, *next; delivery; delivery = next) {
        next = delivery->next;
        if (delivery->reaction_run)
            reaction_run_cancel(delivery->reaction_run);
        free(delivery);
    }
    if (engine->is_on && engine->slots) {
        reactor_free_renderings(engine);
        pipeline_done(&engine->pipeline);
        rate_done(&engine->notes);
    }
    reactor_free_audit(engine);
    free(engine);
}

static enum health_status check_engine(void *self, char message[static HEALTH_TEXT_MAX])
{
    const struct reactor_engine *engine = self;

    if (!engine->is_on) {
        (void)snprintf(message, HEALTH_TEXT_MAX, "switched off");
        return HEALTH_OK;
    }
    if (!engine->puller) {
        (void)snprintf(message, HEALTH_TEXT_MAX, "%s",
                       engine->problem[0] ? engine->problem
                                          : "reading rules, facts and enrollments");
        return HEALTH_DOWN;
    }
    if (engine->problem[0]) {
        (void)snprintf(message, HEALTH_TEXT_MAX, "%s", engine->problem);
        return HEALTH_DEGRADED;
    }
    if (engine->pipeline.breaker.open > 0) {
        (void)snprintf(message, HEALTH_TEXT_MAX, "%zu rules are suspended: they fired too often",
                       engine->pipeline.breaker.open);
        return HEALTH_DEGRADED;
    }
    (void)snprintf(message, HEALTH_TEXT_MAX, "%zu rules", engine->pipeline.rules->rules.n);
    return HEALTH_OK;
}

const struct master_service master_reactor_service = {
    .name = "reactor",
    .open = open_engine,
    .start = start_engine,
    .stop = stop_engine,
    .free = free_reactor_engine,
    .check = check_engine,
};
