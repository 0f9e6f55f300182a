/*
 * Finds lost events. The server delivers each event five times, and then sends one advisory. If
 * that is lost as well, because the streams have no leader at the moment, no master would know.
 *
 * So each master stores its acknowledged events (fleet/reactor/seq_set.h), one bit each, every
 * AUDIT_NS:
 *
 *     reactor-acks/<block>.<master>    the events of that block which the master has acknowledged
 *     reactor-acks/checked             up to where the stream was audited, of which consumer, what
 *                                      has to be compared by ids, and which servers lead
 *
 * The server redelivers nothing up to the consumer's ack floor. The holder of a lease notes the
 * floor, waits until all masters have stored their earlier acks, and looks for numbers up to it
 * that no master has. Such an event was given up, or was acknowledged by a master that died before
 * storing that. The second kind has a recorded outcome, or had no effect; the first is recorded as
 * given up (reactor_salvage), so that an operator can send it again. Resending the second kind is
 * harmless: its actions have the same identity.
 *
 * Servers may number messages differently, so after a leader change of the stream or its consumer,
 * the events around it are compared by id (fleet/reactor/recount.h): an event without an outcome is
 * sent again (reactor_recall).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/number.h"
#include "fleet/bus/store.h"
#include "fleet/master/lease.h"
#include "fleet/master/reactor/reactor_engine.h"
#include "fleet/nats/consumer.h"
#include "fleet/nats/error.h"
#include "fleet/nats/kv.h"
#include "fleet/nats/stream.h"
#include "fleet/reactor/recount.h"
#include "fleet/reactor/seq_set.h"
#include "core/sys/clock.h"
#include "core/sys/loop.h"

#define AUDIT_NS (5 * CLOCK_SECOND)
/* Delay between reading the floor and the audit: others store every AUDIT_NS. */
#define AUDIT_WAIT_NS (2 * AUDIT_NS - CLOCK_SECOND)
/* Limits per audit. */
#define BLOCKS_MAX  64
#define MISSING_MAX 10000

#define LEASE       "reactor-audit"
#define CHECKED     "checked"
#define CHECKED_MAX 512
#define CREATED_MAX 64

/* Consumer info from the last query of its lag. */
struct audit_look {
    uint64_t floor, delivered; /* numbers of the stream */
    uint64_t consumer_seq;     /* deliveries */
    char created[CREATED_MAX];
    uint64_t reach; /* delivered, or to be */
    bool is_idle;
    char leader[CREATED_MAX]; /* "": one server, or not known */
};

struct reactor_audit {
    struct reactor_engine *engine;
    struct lease lease;
    struct timer timer;
    struct seq_set acked;      /* acked by this master, among deliverable events */
    bool is_busy;              /* a step of the audit is in progress */
    bool has_checked;          /* `checked` was read, or starts here */
    bool is_anew;              /* it starts here, and is not stored yet */
    uint64_t checked;          /* audited up to here */
    char created[CREATED_MAX]; /* of the audited consumer */
    uint64_t consumer_seq;     /* its deliveries at that time */
    struct audit_look look;
    uint64_t floor;        /* the floor being audited */
    int64_t floor_since;   /* clock_now; 0: none */
    uint64_t until, block; /* of the current audit */
    struct seq_set all;    /* acked by any master there */
    VEC(uint64_t) missing;
    size_t next_missing;
    struct recount recount;
    uint64_t recount_next; /* next message to compare */
};

static struct nats_kv get_ack_stream(const struct reactor_audit *audit)
{
    return (struct nats_kv){ .js = audit->engine->master->js,
                             .bucket = store_bucket_name(STORE_REACTOR_ACKS),
                             .indirect = true };
}

static bool is_audit_over(const struct reactor_audit *audit)
{
    return audit->engine->is_stopping || !lease_is_held(&audit->lease);
}

/* --- acks of this master --------------------------------------------------------------------- */

void reactor_note_ack(struct reactor_engine *engine, uint64_t seq)
{
    seq_set_add(&engine->audit->acked, seq);
}

struct block_write {
    struct reactor_audit *audit;
    uint64_t number;
};

static void on_block_stored(void *self, const struct nats_error *error, uint64_t revision)
{
    struct block_write *write = self;
    struct seq_block *block = seq_set_find(&write->audit->acked, write->number);

    (void)revision;
    block->is_writing = false;
    block->is_dirty |= error != NULL;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_debug("cannot store acknowledged events yet: %s", error->text);
    free(write);
}

static void store_block(struct reactor_audit *audit, struct seq_block *block)
{
    const struct nats_kv kv = get_ack_stream(audit);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf bytes = BUF_INIT(SEQ_BLOCK_BYTES + 16);
    struct block_write *write = mem_zalloc(sizeof(*write));
    struct err err;

    *write = (struct block_write){ audit, block->number };
    seq_block_encode(block, &bytes);
    if (nats_kv_put(&kv,
                    arena_printf(&arena, "%llu.%s", (unsigned long long)block->number,
                                 audit->engine->master->id),
                    buf_view(&bytes), on_block_stored, write, &err) < 0) {
        free(write); /* retried next time */
        return;
    }
    block->is_writing = true;
    block->is_dirty = false;
}

static void store_acked(struct reactor_audit *audit)
{
    VEC_EACH (&audit->acked.blocks, block)
        if ((*block)->is_dirty && !(*block)->is_writing)
            store_block(audit, *block);
}

/* --- the end of an audit --------------------------------------------------------------------- */

static void end_audit(struct reactor_audit *audit)
{
    audit->is_busy = false;
    audit->missing.n = audit->next_missing = 0;
    seq_set_done(&audit->all);
    audit->all = (struct seq_set){ 0 };
}

static void on_checked_stored(void *self, const struct nats_error *error, uint64_t revision)
{
    struct reactor_audit *audit = self;

    (void)revision;
    if (error && error->fault != NATS_FAULT_CANCELED)
        log_debug("cannot store the event audit: %s", error->text);
    end_audit(audit);
}

static void store_checked(struct reactor_audit *audit)
{
    const struct nats_kv kv = get_ack_stream(audit);
    AUTO_BUF struct buf text = BUF_INIT(CHECKED_MAX);
    struct err err;

    audit->is_anew = false;
    audit->consumer_seq = audit->look.consumer_seq;
    buf_printf(&text, "%llu %s %llu %llu %llu %llu %s", (unsigned long long)audit->checked,
               audit->created, (unsigned long long)audit->consumer_seq,
               (unsigned long long)audit->recount.begin, (unsigned long long)audit->recount.from,
               (unsigned long long)audit->recount.until, audit->recount.leaders);
    if (nats_kv_put(&kv, CHECKED, buf_view(&text), on_checked_stored, audit, &err) < 0)
        end_audit(audit);
}

static void on_audit_purged(void *self, const struct nats_error *error)
{
    (void)self;
    (void)error; /* leftovers expire */
}

static void purge_checked(struct reactor_audit *audit, uint64_t before)
{
    const uint64_t end = (audit->checked + 1) / SEQ_BLOCK;
    struct err err;

    for (uint64_t block = (before + 1) / SEQ_BLOCK; block < end; block++) {
        AUTO_ARENA struct arena arena = ARENA_INIT;
        const struct nats_purge purge = {
            .subject = arena_printf(&arena, "$KV.%s.%llu.*", store_bucket_name(STORE_REACTOR_ACKS),
                                    (unsigned long long)block),
        };

        (void)nats_stream_purge(
            &audit->engine->master->js,
            arena_printf(&arena, "KV_%s", store_bucket_name(STORE_REACTOR_ACKS)), &purge,
            on_audit_purged, audit, &err);
    }
}

static void conclude_audit(struct reactor_audit *audit)
{
    const uint64_t before = audit->checked;

    audit->checked = audit->until;
    purge_checked(audit, before);
    store_checked(audit);
}

/* --- unacknowledged events ------------------------------------------------------------------- */

static void salvage_next(struct reactor_audit *audit);

static void on_salvaged(void *self, const char *problem)
{
    struct reactor_audit *audit = self;

    if (is_audit_over(audit) || problem) { /* the next audit starts at the same position */
        if (problem)
            log_info("event audit failed, trying again: %s", problem);
        end_audit(audit);
        return;
    }
    salvage_next(audit);
}

static void salvage_next(struct reactor_audit *audit)
{
    if (audit->next_missing == audit->missing.n)
        conclude_audit(audit);
    else
        reactor_salvage(audit->engine, audit->missing.p[audit->next_missing++], on_salvaged, audit);
}

static void find_missing_events(struct reactor_audit *audit)
{
    size_t beyond = 0;

    for (uint64_t seq = audit->checked + 1; seq <= audit->until; seq++) {
        if (seq_set_has(&audit->all, seq))
            continue;
        if (audit->missing.n < MISSING_MAX)
            VEC_PUSH(&audit->missing, seq);
        else
            beyond++;
    }
    if (beyond > 0)
        log_error("%zu unacknowledged events are not audited: more than %d", beyond, MISSING_MAX);
}

static void read_audit_blocks(struct reactor_audit *audit);

static void on_audit_block(void *self, const struct nats_error *error,
                           const struct nats_kv_entry *entry)
{
    struct reactor_audit *audit = self;
    struct err err;

    if (entry) {
        if (entry->change == NATS_KV_PUT &&
            seq_set_merge(&audit->all, audit->block, entry->value, &err) < 0)
            log_warning("acknowledged events cannot be read key=%.*s error=%s", STR_ARG(entry->key),
                        err.text);
        return;
    }
    if (error || is_audit_over(audit)) {
        end_audit(audit);
        return;
    }
    audit->block++;
    read_audit_blocks(audit);
}

static void read_audit_blocks(struct reactor_audit *audit)
{
    const struct nats_kv kv = get_ack_stream(audit);
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct err err;

    if (audit->block > audit->until / SEQ_BLOCK) {
        find_missing_events(audit);
        salvage_next(audit);
    } else if (nats_kv_list(&kv, arena_printf(&arena, "%llu.*", (unsigned long long)audit->block),
                            on_audit_block, audit, &err) < 0) {
        end_audit(audit);
    }
}

/* --- scheduling ------------------------------------------------------------------------------ */

static void begin_audit(struct reactor_audit *audit)
{
    const uint64_t most = audit->checked + (uint64_t)BLOCKS_MAX * SEQ_BLOCK;

    audit->until = audit->floor < most ? audit->floor : most;
    audit->block = (audit->checked + 1) / SEQ_BLOCK;
    read_audit_blocks(audit);
}

/* A new consumer starts at the end of the stream and does not deliver earlier events. It has no
 * floor before its first ack; false: its start is not known yet. */
static bool begin_anew(struct reactor_audit *audit)
{
    const struct audit_look *look = &audit->look;

    if (look->floor == 0 && look->consumer_seq > 0)
        return false;
    audit->checked = audit->floor = look->floor ? look->floor : look->delivered;
    audit->floor_since = clock_now();
    audit->recount = (struct recount){ .begin = audit->checked };
    audit->is_anew = true;
    return true;
}

static void judge_floor(struct reactor_audit *audit)
{
    if (!audit->floor_since || audit->floor <= audit->checked) {
        audit->floor = audit->look.floor;
        audit->floor_since = clock_now();
    }
    end_audit(audit);
}

/* --- ids instead of numbers ------------------------------------------------------------------ */

static void recall_next(struct reactor_audit *audit);

static void on_audit_recalled(void *self, const char *problem)
{
    struct reactor_audit *audit = self;

    if (is_audit_over(audit) || problem) { /* restarted after the next query */
        if (problem)
            log_info("events will be compared again: %s", problem);
        end_audit(audit);
        return;
    }
    recall_next(audit);
}

static void recall_next(struct reactor_audit *audit)
{
    struct recount *recount = &audit->recount;

    if (audit->recount_next <= recount->until) {
        reactor_recall(audit->engine, audit->recount_next++, on_audit_recalled, audit);
        return;
    }
    log_info("events were compared with their outcomes from=%llu until=%llu",
             (unsigned long long)recount->from, (unsigned long long)recount->until);
    recount_end(recount);
    store_checked(audit);
}

static void begin_recount(struct reactor_audit *audit)
{
    const struct recount *recount = &audit->recount;

    audit->recount_next = recount->from;
    if (recount->until - recount->from >= RECOUNT_MAX) {
        audit->recount_next = recount->until - RECOUNT_MAX + 1;
        log_error("%llu events are not compared with their outcomes: more than %d",
                  (unsigned long long)(audit->recount_next - recount->from), RECOUNT_MAX);
    }
    recall_next(audit);
}

static const char *find_leader(const struct value *reply)
{
    const struct value *cluster = value_get(reply, "cluster");

    return cluster ? value_get_text(cluster, "leader") : NULL;
}

static void on_audit_stream_info(void *self, const struct nats_error *error,
                                 const struct nats_stream_info *info)
{
    struct reactor_audit *audit = self;
    struct recount_look look = { .reach = audit->look.reach,
                                 .floor = audit->look.floor,
                                 .is_idle = audit->look.is_idle };

    (void)error; /* retried next time */
    if (!info || is_audit_over(audit)) {
        end_audit(audit);
        return;
    }
    look.stream_leader = find_leader(info->reply);
    look.consumer_leader = audit->look.leader[0] ? audit->look.leader : NULL;
    look.last_seq = info->last_seq;
    if (recount_is_ready(&audit->recount, &look)) /* found by an earlier query */
        begin_recount(audit);
    else if (recount_note(&audit->recount, &look, audit->checked) || audit->is_anew)
        store_checked(audit);
    else
        judge_floor(audit);
}

/* Each server has its own creation time for a consumer, and another one after a restart (2.9). But
 * only a recreated consumer has fewer deliveries than before. */
static bool is_same_consumer(const struct reactor_audit *audit)
{
    return strcmp(audit->created, audit->look.created) == 0 ||
           (audit->consumer_seq > 0 && audit->look.consumer_seq >= audit->consumer_seq);
}

static void judge_look(struct reactor_audit *audit)
{
    struct err err;

    if (!is_same_consumer(audit) && !begin_anew(audit)) {
        end_audit(audit);
        return;
    }
    memcpy(audit->created, audit->look.created, sizeof(audit->created));
    if (nats_stream_info(&audit->engine->master->js, STORE_EVENTS, on_audit_stream_info, audit,
                         &err) < 0)
        end_audit(audit);
}

static uint64_t parse_seq(struct str *text)
{
    int64_t number;
    struct err err;

    return number_parse_int(str_cut(text, ' '), &number, &err) == 0 && number > 0 ? (uint64_t)number
                                                                                  : 0;
}

static void parse_checked(struct reactor_audit *audit, struct str text)
{
    struct recount recount = { .last_seq = 0 };
    struct str created;

    audit->checked = parse_seq(&text);
    created = str_cut(&text, ' ');
    (void)snprintf(audit->created, sizeof(audit->created), "%.*s", STR_ARG(created));
    audit->consumer_seq = parse_seq(&text);
    recount.begin = text.n > 0 ? parse_seq(&text) : audit->checked;
    recount.from = parse_seq(&text);
    recount.until = parse_seq(&text);
    (void)snprintf(recount.leaders, sizeof(recount.leaders), "%.*s", STR_ARG(text));
    audit->recount = recount;
}

static void on_audit_event_checked(void *self, const struct nats_error *error,
                                   const struct nats_kv_entry *entry)
{
    struct reactor_audit *audit = self;

    if (is_audit_over(audit) || (error && error->fault != NATS_FAULT_NOT_FOUND)) {
        end_audit(audit);
        return;
    }
    audit->has_checked = true;
    if (entry)
        parse_checked(audit, entry->value);
    judge_look(audit);
}

static void read_checked(struct reactor_audit *audit)
{
    const struct nats_kv kv = get_ack_stream(audit);
    struct err err;

    if (nats_kv_get(&kv, CHECKED, on_audit_event_checked, audit, &err) < 0)
        end_audit(audit);
}

static void note_look(struct reactor_audit *audit, const struct nats_consumer_info *info)
{
    const char *created = value_get_text(info->reply, "created"),
               *leader = find_leader(info->reply);

    audit->look = (struct audit_look){
        .floor = info->ack_floor_stream_seq,
        .delivered = info->delivered_stream_seq,
        .consumer_seq = info->delivered_consumer_seq,
        .reach = info->delivered_stream_seq + (uint64_t)info->pending,
        .is_idle = info->pending == 0 && info->ack_pending == 0,
    };
    (void)snprintf(audit->look.leader, sizeof(audit->look.leader), "%s", leader ? leader : "");
    (void)snprintf(audit->look.created, sizeof(audit->look.created), "%s", created ? created : "");
}

static void judge_consumer(struct reactor_audit *audit, const struct nats_consumer_info *info)
{
    note_look(audit, info);
    if (audit->has_checked)
        judge_look(audit);
    else
        read_checked(audit);
}

/* Without rules, nothing can be audited; no event is lost meanwhile. */
static bool is_look_possible(const struct reactor_audit *audit)
{
    return !audit->is_busy && audit->engine->has_rules && !is_audit_over(audit);
}

void reactor_note_look(struct reactor_engine *engine, const struct nats_consumer_info *info)
{
    struct reactor_audit *audit = engine->audit;

    seq_set_forget(&audit->acked, info->ack_floor_stream_seq);
    if (!is_look_possible(audit))
        return;
    audit->is_busy = true;
    judge_consumer(audit, info);
}

static void on_audit_consumer_info(void *self, const struct nats_error *error,
                                   const struct nats_consumer_info *info)
{
    struct reactor_audit *audit = self;

    (void)error; /* retried next time */
    if (!info || is_audit_over(audit))
        end_audit(audit);
    else
        judge_consumer(audit, info);
}

/* After getting the lease, or with events to compare, do not wait for the next query of the lag. */
static void begin_audit_look(struct reactor_audit *audit)
{
    struct err err;

    if ((!audit->has_checked || audit->recount.until > 0) && is_look_possible(audit))
        audit->is_busy = nats_consumer_info(&audit->engine->master->js, STORE_EVENTS, STORE_REACTOR,
                                            on_audit_consumer_info, audit, &err) == 0;
}

static bool is_audit_due(const struct reactor_audit *audit)
{
    return !audit->is_busy && !is_audit_over(audit) && audit->floor_since &&
           audit->floor > audit->checked && clock_now() - audit->floor_since >= AUDIT_WAIT_NS;
}

static void on_audit_timer(struct timer *timer)
{
    struct reactor_audit *audit = container_of(timer, struct reactor_audit, timer);

    timer_set(loop_timers(audit->engine->master->loop), &audit->timer,
              clock_after(clock_now(), AUDIT_NS), on_audit_timer);
    store_acked(audit);
    begin_audit_look(audit);
    if (!is_audit_due(audit))
        return;
    audit->is_busy = true;
    audit->floor_since = 0;
    begin_audit(audit);
}

static void on_audit_lease_got(struct lease *lease)
{
    struct reactor_audit *audit = container_of(lease, struct reactor_audit, lease);

    audit->has_checked = false; /* another master was active meanwhile */
    audit->floor_since = 0;
    audit->consumer_seq = 0;
    audit->created[0] = '\0';
}

/* --- life ------------------------------------------------------------------------------------ */

void reactor_begin_audit(struct reactor_engine *engine)
{
    struct reactor_audit *audit = mem_zalloc(sizeof(*audit));

    audit->engine = engine;
    audit->lease = (struct lease){ .js = engine->master->js,
                                   .key = LEASE,
                                   .holder = engine->master->id,
                                   .got = on_audit_lease_got };
    engine->audit = audit;
    lease_start(&audit->lease);
    on_audit_timer(&audit->timer);
}

void reactor_end_audit(struct reactor_engine *engine)
{
    struct reactor_audit *audit = engine->audit;

    if (!audit)
        return;
    timer_clear(loop_timers(engine->master->loop), &audit->timer);
    store_acked(audit);
    (void)lease_stop(&audit->lease, NULL, NULL);
}

void reactor_free_audit(struct reactor_engine *engine)
{
    struct reactor_audit *audit = engine->audit;

    if (!audit)
        return;
    seq_set_done(&audit->acked);
    seq_set_done(&audit->all);
    vec_done(&audit->missing);
    free(audit);
    engine->audit = NULL;
}
